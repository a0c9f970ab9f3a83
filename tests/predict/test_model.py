"""The file of a model, and its threads."""

from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.predict.derive import derive
from lockwright.simulate.model import (
    Model,
    ModelMutex,
    Role,
    as_toml,
    exactly,
    gamma,
    load,
    mean,
    scaled,
)

from . import examples

MODEL = Model(
    'a program\'s "name"',
    (
        ModelMutex("one", ((10.0, 20.0, 3.0), (20.0, 40.0, 1.0)), 2),
        ModelMutex("two", exactly(7), lock="mcs-spin", data_lines=0),
        ModelMutex("three", exactly(7), reads=0.9),
        ModelMutex("four", (), is_atomic=True),
    ),
    (
        Role("worker", 4, gamma(100, 1), ((0, 0.5), (1, 0.25), (3, 0.25))),
        Role("writer", 1, (), ((2, 1.0),), False, 0.5, 1e6, barrier_every=7),
    ),
    "a test",
    ("nothing", "something"),
)


def test_a_written_model_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(as_toml(MODEL))
    again = load(path)
    assert again.simulator_input() == MODEL.simulator_input()
    assert (again.title, again.source, again.unknown) == (MODEL.title, MODEL.source, MODEL.unknown)
    assert again.roles[1] == MODEL.roles[1]


def test_a_derived_model_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    model = derive(examples.two_workers(), None).model
    path.write_text(as_toml(model))
    assert mean(load(path).roles[0].gap) == pytest.approx(mean(model.roles[0].gap), rel=1e-5)


@pytest.mark.parametrize(
    ("threads", "counts"),
    [(1, [1]), (2, [1, 1]), (3, [2, 1]), (5, [4, 1]), (64, [63, 1])],
)
def test_threads_are_divided_among_roles(threads: int, counts: list[int]) -> None:
    """The writer does not scale; with fewer threads than roles, the larger roles remain."""
    model = MODEL.with_threads(threads)
    assert [role.threads for role in model.roles] == counts
    assert model.threads == threads


def test_means_of_distributions() -> None:
    assert mean(gamma(100, 1)) == pytest.approx(100)
    assert mean(scaled(gamma(100, 1), 0.5)) == pytest.approx(50)
    assert [mean(gamma(100, each)) for each in (0, 0.5, 2)] == pytest.approx([100] * 3)
    assert mean(exactly(3)) == 3
    assert mean(exactly(0)) == mean(gamma(0, 1)) == 0


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("lockwright model 1", "lockwright model 9", "does not have the format"),
        ("title = ", "title == ", "is not TOML"),
        ("[[role]]", "[[roles]]", "roles: is not a key"),
        ("instances = 2", "instances = 0", "mutex[1].instances: is 0, not a whole number >= 1"),
        ("instances = 2", "instance = 2", "did you mean 'instances'"),
        ("[[10, 20, 3]", "[[20, 10, 3]", "give the lower bound first"),
        ("[[10, 20, 3]", "[[10, 3]", "section_ns[1]: is [10, 3], not a list of length 3"),
        (
            "takes = [[2, 1]]",
            "takes = [[4, 1]]",
            "role[2]: takes names mutex 4",
        ),
        ("takes = [[2, 1]]", "takes = [[2, 0]]", "all shares of takes are 0"),
        ("reads = 0.9", "reads = 1.1", "mutex[3].reads: is 1.1, not a number <= 1"),
        ("threads = 4", "threads = 0", "role[1].threads: is 0, not a whole number >= 1"),
        ("data_lines = 0", "data_lines = -1", "data_lines: is -1, not a whole number >= 0"),
        ("barrier_every = 7", "barrier_every = []", "barrier_every: is [], not a whole number"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    path = tmp_path / "model.toml"
    text = as_toml(MODEL)
    assert old in text, text
    path.write_text(text.replace(old, new))
    with pytest.raises(LockwrightError) as refusal:
        load(path)
    assert reason in f"{refusal.value.what}; {refusal.value.todo}"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LockwrightError, match="cannot read"):
        load(tmp_path / "none.toml")
