"""`lockwright advise` says what a profile means, and refuses what is none."""

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
    """A profile of two threads that stand in each other's way half of the time."""
    path = tmp_path / "profile.json"
    hot = examples.mutex(held=1e6, contended=100, waited=0.5 * examples.SECOND, threads=2)
    path.write_text(examples.profile(hot, lock_calls=1e5).to_json())
    return path


def test_it_shows_bottlenecks_questions_and_locks(cli: Cli, contended: Path) -> None:
    done = cli("advise", contended)
    assert done.status == 0
    assert done.out.startswith("It is high contention at hot; ")
    for word in ("  yes  high contention", "  no   extreme", "   ?   memory", "  6  How contended"):
        assert word in done.out
    assert "mappings made and removed" not in done.out
    assert "Measure them: lockwright compare --locks pthread" in done.out


def test_the_comparison_has_reader_writer_locks_as_the_profile(cli: Cli, contended: Path) -> None:
    profile = dataclasses.replace(record.read(contended), rwlock="mutex")
    contended.write_text(profile.to_json())
    assert " --rwlock mutex -- " in cli("advise", contended).out.splitlines()[-1]


def test_all_evidence_where_it_is_asked_for(cli: Cli, contended: Path) -> None:
    assert "mappings made and removed" in cli("advise", contended, "--all").out


def test_json(cli: Cli, contended: Path) -> None:
    whole = json.loads(cli("advise", contended, "--json", "--top", 1).out)
    assert [each["key"] for each in whole["diagnoses"] if each["fired"]] == ["high"]
    assert len(whole["shortlist"]) == 1


def test_what_is_no_profile_is_refused(cli: Cli, tmp_path: Path, contended: Path) -> None:
    cli("advise", tmp_path / "none.json").refuses("none.json", "lockwright profile")
    whole = contended.read_text()
    for damaged in (
        whole[:-20],
        whole.replace('"mutexes":[', '"mutexes":[7,', 1),
        whole.replace('"duration":', '"duration":"long","was":', 1),
    ):
        assert damaged != whole
        contended.write_text(damaged)
        cli("advise", contended).refuses("is not a profile")


@pytest.mark.parametrize("text", ["", "[]", '{"format": "lockwright profile 1"}', "\x00"])
def test_nor_is_a_file_of_something_else(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(LockwrightError, match="is not a profile"):
        record.read(path)
