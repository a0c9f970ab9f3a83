"""`lockwright compare` against an earlier comparison, and its Markdown summary."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.compare import baseline
from lockwright.stats import inference

from .conftest import Cli, Program, Result

METRIC = ["--metric", r"rate: ([0-9.]+)", "--unit", "ops"]
LOCKS = ["--locks", "pthread,futex", "--runs", "3"]


@pytest.fixture(scope="module")
def words(program: Program) -> list[str]:
    return ["--", str(program("worker")), "2", "3000"]


@pytest.fixture(scope="module")
def text_of_earlier(
    shared_cli: Cli, words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> str:
    path = tmp_path_factory.mktemp("baseline") / "before.json"
    result = shared_cli("compare", *LOCKS, *METRIC, "--json", path, *words)
    assert result.status == 0, result.err
    return path.read_text()


@pytest.fixture
def earlier(text_of_earlier: str, tmp_path: Path) -> Path:
    """A comparison in which every run has the same rate."""
    path = tmp_path / "before.json"
    path.write_text(text_of_earlier)
    return path


@pytest.fixture
def against(cli: Cli, words: list[str], earlier: Path) -> Any:
    """A function that repeats the comparison against the file, with more options."""

    def repeat(*options: str | Path) -> Result:
        return cli("compare", *LOCKS, *METRIC, "--baseline", earlier, *options, *words)

    return repeat


def change(path: Path, factor: float = 1.0, **facts: Any) -> None:
    """Multiply the rates in a file, and change facts about the machine."""
    document = json.loads(path.read_text())
    for run in document["runs"]:
        run["value"] *= factor
    document["provenance"] |= facts
    path.write_text(json.dumps(document))


def test_equal_figures_are_not_worse(against: Any, tmp_path: Path) -> None:
    file = tmp_path / "now.json"
    result = against("--fail-if-worse", "5%", "--json", file)
    assert result.status == 0, result.err
    assert result.out.splitlines()[-1].startswith("Not shown to be worse")
    [first, second] = json.loads(file.read_text())["baseline"]["rows"]
    assert {first["lock"], second["lock"]} == {"pthread", "futex"}
    assert first["ratio"] == 1
    assert first["threads"] is None


def test_a_lower_rate_is_worse(against: Any, earlier: Path) -> None:
    change(earlier, 1.25)
    result = against("--fail-if-worse", "5%")
    assert result.status == 1, result.err
    assert "ratio 0.80" in result.out
    assert against("--fail-if-worse", "21%").status == 0
    assert against().status == 0


def test_a_lower_rate_on_another_machine_shows_nothing(against: Any, earlier: Path) -> None:
    change(earlier, 1.25, cpu="another processor")
    result = against("--fail-if-worse", "5%")
    assert result.status == 0, result.err
    assert "another machine" in result.out
    assert "another processor" in result.out


def test_other_conditions_are_named(against: Any, earlier: Path) -> None:
    change(earlier, 1.25, kernel="another\x1bkernel")
    result = against("--fail-if-worse", "5%")
    assert result.status == 1, result.err
    assert "kernel: another?kernel" in result.out


def test_a_lock_that_no_longer_ends_is_worse(
    cli: Cli, earlier: Path, program: Program, tmp_path: Path
) -> None:
    """A program that ends only the first three times: probe, and one run of each lock."""
    count = tmp_path / "count"
    script = f'echo >>{count}; [ $(wc -l <{count}) -le 3 ] || exit 1; exec "$@"'
    words = ["sh", "-c", script, "sh", str(program("worker")), "2", "3000"]
    options = ["--warm-up-runs", "1", "--baseline", earlier, "--fail-if-worse", "5%"]
    result = cli("compare", *LOCKS, *METRIC, *options, "--", *words)
    assert result.status == 1, result.err
    assert "no run finished" in result.out


def test_the_summary_is_markdown(against: Any, earlier: Path, tmp_path: Path) -> None:
    change(earlier, 1.25)
    file = tmp_path / "summary.md"
    result = against("--fail-if-worse", "5%", "--markdown", file)
    assert result.status == 1, result.err
    text = file.read_text()
    assert text.startswith("### Locks under ")
    assert "\n\n**Worse than the baseline by more than 5 %: " in text
    tables = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in tables} == {6}
    assert sum("---:" in line for line in tables) == 2


def test_the_summary_goes_to_standard_output(cli: Cli, words: list[str]) -> None:
    result = cli("compare", *LOCKS, *METRIC, "--markdown", "-", *words)
    assert result.status == 0, result.err
    assert result.out.startswith("### Locks under worker")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fail-if-worse", "5%"], "--baseline"),
        (["--baseline", "missing.json"], "cannot read --baseline"),
        (["--baseline", "/dev/null"], "is not JSON"),
    ],
)
def test_bad_options_are_refused(
    cli: Cli, words: list[str], options: list[str], message: str
) -> None:
    cli("compare", *LOCKS, *METRIC, *options, *words).refuses(message)


@pytest.mark.parametrize("limit", ["x", "-1%", "100%", "nan"])
def test_a_bad_limit_is_refused(against: Any, limit: str) -> None:
    against("--fail-if-worse", limit).refuses("percentage")


def test_other_figures_are_refused(cli: Cli, words: list[str], earlier: Path) -> None:
    """Wall time, other locks, and one run cannot be compared."""
    limit = ["--baseline", earlier, "--fail-if-worse", "5%"]
    cli("compare", *LOCKS, *limit, *words).refuses("another --metric")
    document = json.loads(earlier.read_text())
    document["runs"] = [run | {"threads": 7} for run in document["runs"]]
    earlier.write_text(json.dumps(document))
    cli("compare", *LOCKS, *METRIC, *limit, *words).refuses("none of these locks")


def test_one_run_is_refused(cli: Cli, words: list[str], earlier: Path) -> None:
    limit = ["--baseline", earlier, "--fail-if-worse", "5%", "--runs", "1"]
    cli("compare", "--locks", "pthread", *METRIC, *limit, *words).refuses("two runs")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}', "[" * 100_000, "\x00"])
def test_files_that_are_no_comparison_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(LockwrightError):
        baseline.read(path)


def test_interval_is_that_of_welch() -> None:
    """scipy's Welch test of the logarithms has the same interval."""
    from scipy import stats

    now, before = [1.1, 1.3, 1.2, 1.25], [1.0, 1.05, 0.9]
    ratio = inference.independent_ratio(now, before, True)
    logs = [[-math.log(value) for value in series] for series in (now, before)]
    expected = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    assert ratio is not None
    assert ratio.low == pytest.approx(math.exp(expected.low))
    assert ratio.high == pytest.approx(math.exp(expected.high))
    assert inference.independent_ratio([0.0, 1.0], before, True) is None
