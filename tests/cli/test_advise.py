"""`lockwright advise` explains a profile, and refuses other files."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from advise import examples
from lockwright.advise import Candidate, advise
from lockwright.advise.measured import TOGETHER
from lockwright.advise.show import cautions
from lockwright.base.errors import LockwrightError
from lockwright.profile import record
from support.made_profile import made_profile

from .conftest import Cli, on_a_terminal


@pytest.fixture
def contended(tmp_path: Path) -> Path:
    """Write the profile of two threads that wait for each other half of the time."""
    path = tmp_path / "profile.json"
    mutex = examples.mutex(held=1e6, contended=100, waited=0.5 * examples.SECOND, threads=2)
    path.write_text(examples.profile(mutex, lock_calls=1e5).to_json())
    return path


def test_output_has_verdict_evidence_locks_and_change(cli: Cli, contended: Path) -> None:
    result = cli("advise", contended)
    assert result.status == 0
    lines = result.out.splitlines()
    assert lines[0].startswith("The bottleneck is high contention at hot; ")
    labels = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
    assert labels == ["because", "try", "change", "measure", "run", "more"]
    assert "safe but was not simulated (this machine is not described; " in result.out
    assert "calibrate --machine-file here" in " ".join(result.out.split())
    assert "threads that wait for the most contended mutex, of those that could: 50 %" in result.out
    assert "lockwright compare --locks pthread,default " in lines[-3]
    assert lines[-2].split() == ["run", "lockwright", "run", "--", "program"]
    assert lines[-1].endswith(f"lockwright advise --all {contended}")
    for word in ("extreme", "How contended", "Tail latency", "mappings made and removed"):
        assert word not in result.out


def test_all_prints_bottlenecks_questions_and_locks(cli: Cli, contended: Path) -> None:
    out = cli("advise", contended, "--all").out
    assert out.startswith("The bottleneck is high contention at hot; ")
    for word in ("  yes  high contention", "  no   extreme", "   ?   memory", "  6  How contended"):
        assert word in out
    assert "mappings made and removed" in out
    assert "Measure them: lockwright compare --locks pthread" in out
    assert "Run the default: lockwright run -- program" in out


def test_the_number_of_locks(cli: Cli, contended: Path) -> None:
    def names(*options: str | int) -> list[str]:
        (line,) = (
            each
            for each in cli("advise", contended, *options).out.splitlines()
            if "compare" in each
        )
        return line.partition("--locks ")[2].split()[0].split(",")

    assert names() == ["pthread", "default"]
    assert names("--top", 1) == ["pthread", "default"]


def test_locks_that_spin_have_a_caution(contended: Path) -> None:
    chosen = [Candidate("mcs-spin", "", survives_oversubscription=False), Candidate("futex", "")]
    advice = advise(record.read(contended), chosen=chosen)
    (line,) = cautions(advice, 2)
    assert "With more threads than processors mcs-spin may lose" in line
    assert cautions(advise(record.read(contended), chosen=chosen[1:]), 1) == []


def test_predictions_can_be_left_out(cli: Cli, contended: Path) -> None:
    assert "predicted" not in cli("advise", contended, "--no-predict").out


@pytest.mark.parametrize("path", ["made", "contended"])
def test_the_advice_is_half_a_screen(
    command: list[str], environment: dict[str, str], contended: Path, path: str
) -> None:
    """Also of a profile with several bottlenecks and changes."""
    if path == "made":
        contended.write_text(made_profile().to_json())
    words = [*command, "advise", str(contended)]
    text, status = on_a_terminal(words, environment, 100)
    assert status == 0
    lines = text.splitlines()
    assert len(lines) <= 20, text
    # Commands are single lines, so that they can be copied.
    commands = [line for line in lines if line.startswith(("measure", "more"))]
    assert all(len(line) <= 100 for line in lines if line not in commands), text


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_the_comparison_has_the_rwlock_option_of_the_profile(
    cli: Cli, contended: Path, options: list[str]
) -> None:
    profile = dataclasses.replace(record.read(contended), rwlock="mutex")
    contended.write_text(profile.to_json())
    out = cli("advise", contended, *options).out
    assert "--locks pthread,adaptive --rwlock mutex -- " in out
    assert "lockwright run" not in out


def test_json(cli: Cli, contended: Path) -> None:
    text = json.loads(cli("advise", contended, "--json", "-", "--top", 1).out)
    assert [each["key"] for each in text["diagnoses"] if each["fired"]] == ["high"]
    assert [each["lock"] for each in text["shortlist"]] == ["default"]


def test_a_damaged_profile_is_refused(cli: Cli, tmp_path: Path, contended: Path) -> None:
    cli("advise", tmp_path / "none.json").refuses("none.json", "lockwright profile")
    text = contended.read_text()
    for damaged in (
        text[:-20],
        text.replace('"mutexes":[', '"mutexes":[7,', 1),
        text.replace('"duration":', '"duration":"long","was":', 1),
    ):
        assert damaged != text
        contended.write_text(damaged)
        cli("advise", contended).refuses("is not a profile")


def test_a_profile_of_another_version_is_refused(cli: Cli, contended: Path) -> None:
    text = contended.read_text().replace(record.FORMAT, "lockwright profile 2", 1)
    contended.write_text(text)
    for words in (["advise"], ["predict"], ["what-if", "--section", "0.5"]):
        cli(*words, contended).refuses("'lockwright profile 2'", f"reads '{record.FORMAT}'")


@pytest.mark.parametrize("text", ["", "[]", '{"format": "lockwright profile 1"}', "\x00"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(LockwrightError, match="is not a profile"):
        record.read(path)


def experiments(path: Path, mutex: str, gain: float, low: float, high: float) -> Path:
    """Write what is used of the file of `what-if --measure --json`."""
    row = {"gain": gain, "gain_low": low, "gain_high": high, "simulated": None}
    rows: list[dict[str, Any]] = [{"shorter_percent": share, **row} for share in (25, 50)]
    rows.append({"shorter_percent": 75} | dict.fromkeys(row))
    rows += [{"shorter_percent": None, "change": change, **row} for change in ("", TOGETHER)]
    path.write_text(json.dumps({"measured": True, "mutexes": [{"mutex": mutex, "rows": rows}]}))
    return path


def test_measured_gains_are_beside_the_predicted_ones(cli: Cli, tmp_path: Path) -> None:
    site = examples.site("f", held=1e9, acquisitions=1000)
    mutex = examples.mutex(
        held=1e6, contended=100, waited=0.5 * examples.SECOND, threads=2, sites=(site,)
    )
    profile = tmp_path / "profile.json"
    profile.write_text(examples.profile(mutex, lock_calls=1e5).to_json())
    before = cli("advise", profile, "--all").out
    file = experiments(tmp_path / "e.json", "hot", 1.35, 1.2, 1.53)
    for options in ((), ("--all",)):
        out = " ".join(cli("advise", profile, *options, "--experiments", file).out.split())
        assert "1.35 times (1.20 to 1.53) with sections of hot 50 % shorter" in out, before
        assert "without waits for hot" in out
        assert ("with readers of hot together" in out) == bool(options)
    experiments(file, "hot", 1.0, 0.95, 1.06)
    out = " ".join(cli("advise", profile, "--experiments", file).out.split())
    assert "hot 50 % shorter: nothing is gained, 1.00 times (0.95 to 1.06)" in out
    # No waits do not show that: a change that spares them may gain by other things.
    assert out.count("nothing is gained") == 1
    for text, reason in (("{}", "measured"), ("[", "is not JSON")):
        (tmp_path / "bad.json").write_text(text)
        result = cli("advise", profile, "--experiments", tmp_path / "bad.json")
        assert (result.status, result.err.count("\n")) == (2, 1)
        assert reason in result.err
    for path in (tmp_path / "none.json", experiments(file, "cold", 1, 0.9, 1.1)):
        result = cli("advise", profile, "--experiments", path)
        assert (result.status, result.err.count("\n")) == (2, 1)
