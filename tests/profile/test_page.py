"""Tests of the report of a profile, a single file with every mutex and its figures."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lockwright.advise import Candidate, Gain, Gains, advise
from lockwright.base import numbers
from lockwright.base.errors import LockwrightError
from lockwright.export import page
from lockwright.export.page import script_data
from lockwright.profile.record import Distribution, Process, Profile, RwLock
from support.html import Page
from support.made_profile import made_profile


def data_of(text: str) -> dict[str, Any]:
    match = re.search(r"^const DATA = (.*);$", text, re.MULTILINE)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


@pytest.fixture(scope="module")
def profile() -> Profile:
    return made_profile()


@pytest.fixture(scope="module")
def text(profile: Profile) -> str:
    return page.render(profile)


def test_the_page_has_every_mutex(profile: Profile, text: str) -> None:
    parsed = Page(text)
    assert parsed.sources == [], "the file refers to others"
    assert len(set(parsed.ids)) == len(parsed.ids)
    for index, mutex in enumerate(profile.mutexes):
        assert mutex.name in parsed.words
        assert f"mutex-{index}" in parsed.ids
    assert {link[1:] for link in parsed.links} <= set(parsed.ids)


def test_the_advice_comes_first(text: str) -> None:
    sections = re.findall(r'<section id="([a-z-]+)"', text)
    assert sections[:2] == ["advice", "flame-section"]


def test_reader_writer_locks_have_a_table(profile: Profile, text: str) -> None:
    assert "rwlocks" not in Page(text).ids
    side = profile.mutexes[1]
    lock = RwLock(
        "shared_table",
        side.place,
        side.address,
        1,
        4,
        replace(side, type="readers"),
        replace(side, type="writers", contended=0, waiting=Distribution(), blocks=()),
    )
    parsed = Page(page.render(replace(profile, rwlocks=(lock,))))
    assert "rwlocks" in parsed.ids
    for word in ("shared_table", "readers", "writers", numbers.time(side.lost)):
        assert word in parsed.words


def test_figures_are_those_of_the_profile(profile: Profile, text: str) -> None:
    words = Page(text).words
    share = numbers.share(profile.lost / (profile.lost + profile.process.cpu))
    assert f"2.05 s lost waiting ({share} of the time in which threads ran" in words
    assert "300k by 8 threads; 90k found it held (30 %)" in words
    assert "20k waits, 21k signals, 4,000 futile wake-ups" in words
    assert "9 at most, 8.4 on average" in words
    assert "130 created, 4 destroyed, 128 at one time" in words
    assert "not measurable here" in words
    assert profile.mutexes[0].lost == pytest.approx(1.97e9, rel=0.01)


def test_the_page_has_the_advice(profile: Profile, text: str) -> None:
    advice = advise(profile)
    words = Page(text).words
    assert advice.sentence in words
    for diagnosis in advice.diagnoses:
        answer = "yes" if diagnosis.fired else "no" if diagnosis.measurable else "not measurable"
        assert f"{diagnosis.title} : {answer}" in words
    assert all(step.question in words for step in advice.steps)
    assert all(f"{each.lock} {each.reason}" in words for each in advice.shortlist)


def test_the_drawings_have_all_figures(profile: Profile, text: str) -> None:
    data = data_of(text)
    for index, mutex in enumerate(profile.mutexes):
        waited = sum(each[1] for each in data["stacks"]["stacks"] if each[0] == index)
        assert waited == pytest.approx(mutex.lost, rel=1e-6)
        blocked = sum(each[3] for each in data["blocks"] if each[0] == index)
        assert blocked == pytest.approx(sum(each.waited for each in mutex.blocks))
    spans = [each for thread in data["timeline"]["threads"] for each in thread["spans"]]
    assert len(spans) == len(profile.timeline)
    assert {thread["name"] for thread in data["timeline"]["threads"]} >= {"worker 0", "thread 7"}


def test_a_mutex_without_stacks_has_its_width(profile: Profile) -> None:
    mutex = replace(profile.mutexes[0], sites=())
    data = script_data.stacks(replace(profile, mutexes=(mutex,)))
    assert data["stacks"] == [[0, mutex.lost, []]]


def test_threads_of_one_name_have_numbers(profile: Profile) -> None:
    same = replace(profile, thread_names={"0": "pool", "1": "pool", "2": "main"})
    names = [thread["name"] for thread in script_data.timeline(same)["threads"]]
    assert names[:4] == ["pool 0", "pool 1", "main", "thread 3"]


def test_bins_have_the_weights_of_their_values() -> None:
    bins = script_data.binned(((1.0, 2.0), (1000.0, 6.0), (1060.0, 1.0), (1e6, 1.0)))
    assert sum(bins.values()) == pytest.approx(10)
    assert bins[0] == pytest.approx(2)
    assert bins[30] == pytest.approx(7)
    assert bins[60] == pytest.approx(1)
    wide = script_data.binned(((100.0, 1.0), (200.0, 0.0)))
    assert len(wide) == 4
    assert sum(wide.values()) == pytest.approx(1)
    # The last bucket ends at the longest duration, here in the next bin.
    last = script_data.binned(((1880.0, 1.0),), 2120.0)
    assert sorted(last) == [32, 33]
    assert last[33] > last[32]


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"mutexes": (), "timeline": ()}, "No mutex was used."),
        ({"partial": "the program was killed"}, "the program was killed"),
    ],
)
def test_the_page_names_missing_parts(
    profile: Profile, part: dict[str, Any], sentence: str
) -> None:
    assert sentence in Page(page.render(replace(profile, **part))).words


def test_mutexes_without_waiting(profile: Profile) -> None:
    quiet = tuple(
        replace(each, contended=0, waiting=Distribution(), sites=(), blocks=(), arrivals=())
        for each in profile.mutexes
    )
    words = Page(page.render(replace(profile, mutexes=quiet, process=Process()))).words
    assert "0 ns lost waiting" in words


def test_names_are_escaped(profile: Profile) -> None:
    mutex = replace(profile.mutexes[0], name="</script><b>bold</b>")
    text = page.render(replace(profile, mutexes=(mutex,), timeline=()))
    assert "<b>bold</b>" not in text
    assert "</script><b>" not in text
    assert "</script><b>bold</b>" in Page(text).words


def test_a_page_has_a_limited_number_of_mutexes(profile: Profile) -> None:
    many = replace(profile, mutexes=profile.mutexes * 200, timeline=())
    text = page.render(many)
    assert "1,500 more, for which threads waited" in Page(text).words
    assert len(text) < len(page.render(profile)) + 2_000_000


def test_a_path_that_cannot_be_written_is_named(profile: Profile, tmp_path: Path) -> None:
    with pytest.raises(LockwrightError, match="cannot write -o"):
        page.write(profile, tmp_path / "none" / "report.html")


def test_the_page_has_the_advice_that_it_is_given(profile: Profile, text: str) -> None:
    """With its predictions and their warnings, in place of the one without simulations."""
    assert "was not simulated" in Page(text).words or "nothing was simulated" in Page(text).words
    chosen = [Candidate("cna", "predicted 1.30 times", gain=1.3)]
    advice = advise(profile, chosen=chosen)
    gain = Gain(advice.changes[0].kind, 0, "with 8 mutexes", 2.5)
    predicted = Gains((gain,), warnings=("The model is wrong.",))
    words = Page(page.render(profile, replace(advice, predicted=predicted))).words
    for each in ("cna predicted 1.30 times", "predicted 2.50 times with 8 mutexes: ", "is wrong."):
        assert each in words
    assert "not simulated" not in words
