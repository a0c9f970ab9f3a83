"""`lockwright advise` explains a profile, and refuses other files."""

import dataclasses
import json
from pathlib import Path

import pytest
from advise import examples
from lockwright.base.errors import LockwrightError
from lockwright.profile import record

from .conftest import Cli


@pytest.fixture
def contended(tmp_path: Path) -> Path:
    """Write the profile of two threads that wait for each other half of the time."""
    path = tmp_path / "profile.json"
    mutex = examples.mutex(held=1e6, contended=100, waited=0.5 * examples.SECOND, threads=2)
    path.write_text(examples.profile(mutex, lock_calls=1e5).to_json())
    return path


def test_output_has_bottlenecks_questions_and_locks(cli: Cli, contended: Path) -> None:
    result = cli("advise", contended)
    assert result.status == 0
    assert result.out.startswith("It is high contention at hot; ")
    for word in ("  yes  high contention", "  no   extreme", "   ?   memory", "  6  How contended"):
        assert word in result.out
    assert "mappings made and removed" not in result.out
    assert "Measure them: lockwright compare --locks pthread" in result.out


def test_the_comparison_has_the_rwlock_option_of_the_profile(cli: Cli, contended: Path) -> None:
    profile = dataclasses.replace(record.read(contended), rwlock="mutex")
    contended.write_text(profile.to_json())
    assert " --rwlock mutex -- " in cli("advise", contended).out.splitlines()[-1]


def test_the_option_for_all_evidence(cli: Cli, contended: Path) -> None:
    assert "mappings made and removed" in cli("advise", contended, "--all").out


def test_json(cli: Cli, contended: Path) -> None:
    text = json.loads(cli("advise", contended, "--json", "--top", 1).out)
    assert [each["key"] for each in text["diagnoses"] if each["fired"]] == ["high"]
    assert len(text["shortlist"]) == 1


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


@pytest.mark.parametrize("text", ["", "[]", '{"format": "lockwright profile 1"}', "\x00"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(LockwrightError, match="is not a profile"):
        record.read(path)
