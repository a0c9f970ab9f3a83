"""`lockwright calibrate` measures; `run`, `compare` and `info` go by it unless told otherwise."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lockwright.machine.calibration import this_machine

from .conftest import Cli

Settings = Callable[..., Path]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Writes a file as `calibrate` does, where the command looks for it, with changes."""

    def write(values: dict[str, dict[str, int]], **changes: Any) -> Path:
        path = tmp_path / "config" / "lockwright" / "calibration.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"format": 1, "machine": this_machine(), "values": values, **changes}
        path.write_text(json.dumps(document))
        return path

    return write


def exported(text: str) -> dict[str, str]:
    """The variables of ours in the output of `env`."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {k: v for k, v in pairs if k.startswith("LOCKWRIGHT_") and k.endswith("_NS")}


def test_what_is_measured_is_used(cli: Cli, tmp_path: Path) -> None:
    """Every measurement yields a time, every value follows, and the next run has it."""
    done = cli("calibrate", "--runs", "1")
    assert done.status == 0, done.err
    document = json.loads((tmp_path / "config/lockwright/calibration.json").read_text())
    measured = {name: found["median"] for name, found in document["measured"].items()}
    assert all(value > 0 for value in measured.values())
    assert {"pause", "turn", "clock", "switch", "sleep", "wake"} <= set(measured)
    # Who sleeps has waited for as long at least as the call that wakes a thread needs to start.
    values = document["values"]
    polls = values["*"]["spin-ns"]
    assert polls == pytest.approx(measured["sleep"] + measured["turnaround 10 us"], abs=1)
    if "transfer" in measured:
        grace = values["mutexee"]["grace-ns"]
        assert grace == pytest.approx(3 * measured["transfer"] + measured["pause"], abs=1)
        assert values["mutexee"] == values["mutexee-timeout"]
    for shown in (f"{polls:,}", "Written: "):
        assert shown in done.out
    assert exported(cli("run", "--lock", "mcs-stp", "env").out) == {
        "LOCKWRIGHT_MCS_STP_SPIN_NS": str(polls)
    }


def test_output_is_elsewhere_and_has_to_be_named(cli: Cli, tmp_path: Path) -> None:
    """--output writes there and nowhere else, and says how to use it."""
    path = tmp_path / "mine.json"
    done = cli("calibrate", "--runs", "1", "--output", path)
    assert f"LOCKWRIGHT_CALIBRATION={path}" in done.out
    assert not (tmp_path / "config").exists()
    assert exported(cli("run", "--lock", "mcs-stp", "env").out) == {}
    named = {"LOCKWRIGHT_CALIBRATION": str(path)}
    assert len(exported(cli("run", "--lock", "mcs-stp", "env", env=named).out)) == 1
    cli("calibrate", "--output", "/nonexistent/c.json").refuses("/nonexistent/c.json", "--output")


def test_a_lock_gets_its_own_numbers(cli: Cli, settings: Settings) -> None:
    """A lock gets the values that it has, its own before the common ones, within their bounds."""
    path = settings({"*": {"spin-ns": 7, "batch": 0}, "clh-stp": {"spin-ns": 8}})
    one = {"mcs-stp": "7", "clh-stp": "8"}
    for lock, value in one.items():
        name = f"LOCKWRIGHT_{lock.upper().replace('-', '_')}_SPIN_NS"
        assert exported(cli("run", "--lock", lock, "env").out) == {name: value}
    assert exported(cli("run", "--lock", "ttas", "env").out) == {}
    least = "LOCKWRIGHT_HMCS_BATCH=1\n"
    assert least in cli("run", "--lock", "hmcs", "env").out, "zero is below the least"
    without = {"LOCKWRIGHT_CALIBRATION": "none"}
    assert exported(cli("run", "--lock", "mcs-stp", "env", env=without).out) == {}
    assert path.exists()


@pytest.mark.parametrize("variable", ["LOCKWRIGHT_SPIN_NS", "LOCKWRIGHT_MCS_STP_SPIN_NS"])
def test_the_environment_comes_first(cli: Cli, settings: Settings, variable: str) -> None:
    """Values that the user has set, for one lock or for all, remain, and `info` says so."""
    settings({"*": {"spin-ns": 7777}})
    own = {variable: "55"}
    assert exported(cli("run", "--lock", "mcs-stp", "env", env=own).out) == own
    shown = cli("info", "mcs-stp", env=own).out
    assert f"LOCKWRIGHT_MCS_STP_SPIN_NS: 55 ns ({variable}; by default 10,000 ns)" in shown
    assert "7,777" not in shown


def test_info_says_where_a_number_comes_from(cli: Cli, settings: Settings) -> None:
    """Default without a file, calibrated with one."""
    assert "LOCKWRIGHT_MCS_STP_SPIN_NS: 10,000 ns (default)" in cli("info", "mcs-stp").out
    settings({"*": {"spin-ns": 7777}})
    assert "7,777 ns (calibrated; by default 10,000 ns)" in cli("info", "mcs-stp").out


def test_compare_uses_and_records_it(cli: Cli, settings: Settings, tmp_path: Path) -> None:
    """The runs of a lock have its numbers, and the results say which."""
    settings({"*": {"spin-ns": 7777}})
    seen = tmp_path / "seen"
    script = (
        "import os, threading; threading.Lock()\n"
        f"open({str(seen)!r}, 'a').write(os.environ.get('LOCKWRIGHT_MCS_STP_SPIN_NS', '-') + ' ')"
    )
    result = tmp_path / "result.json"
    done = cli(
        *("compare", "--locks", "mcs-stp", "--runs", "1", "--warmup", "0"),
        *("--json", result, "--", "python3", "-c", script),
    )
    assert done.status == 0, done.err
    # The first run of all, of which nothing is measured, and the baseline have none.
    assert sorted(seen.read_text().split()) == ["-", "-", "7777"]
    facts = json.loads(result.read_text())["provenance"]
    assert facts["LOCKWRIGHT_MCS_STP_SPIN_NS"] == "7777 (calibrated)"


def test_a_file_of_another_machine_is_not_used(cli: Cli, settings: Settings) -> None:
    """A line says so, and the program runs with the defaults."""
    machine = {"processor": "Z80", "processors": 1}
    settings({"*": {"spin-ns": 7}}, machine=machine)
    done = cli("run", "--lock", "mcs-stp", "env")
    assert done.status == 0
    assert exported(done.out) == {}
    assert len(done.err.splitlines()) == 1
    assert "1 x Z80" in done.err
    assert "lockwright calibrate" in done.err
    shown = cli("info", "mcs-stp").out
    assert "10,000 ns (default)" in shown
    assert "1 x Z80" in shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": 1}',
        '{"format": 1, "machine": {}, "values": {}}',
        '{"format": 1, "machine": {"processor": "", "processors": 1}, "values": {"*": 5}}',
        '{"format": 1, "machine": {"processor": "", "processors": 1}, "values": {"*": {"a": -1}}}',
        '{"format": 2}',
    ],
)
def test_a_file_that_is_none_is_refused(cli: Cli, settings: Settings, text: str) -> None:
    """The line names the file and says what to do."""
    path = settings({})
    path.write_text(text)
    for words in (["run", "--lock", "mcs-stp", "true"], ["info", "mcs-stp"]):
        cli(*words).refuses(str(path), "calibrate")


def test_a_named_file_has_to_be_there(cli: Cli) -> None:
    """Else a typing error would quietly mean the defaults."""
    named = {"LOCKWRIGHT_CALIBRATION": "/nonexistent/c.json"}
    cli("run", "--lock", "mcs-stp", "true", env=named).refuses("/nonexistent/c.json", "--output")
