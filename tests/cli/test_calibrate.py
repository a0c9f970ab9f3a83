"""`lockwright calibrate`, and the use of its values by `run`, `compare` and `info`."""

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
    """Return a function that writes the calibration file, with changes."""

    def write(values: dict[str, dict[str, int]], **changes: Any) -> Path:
        path = tmp_path / "config" / "lockwright" / "calibration.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"format": 1, "machine": this_machine(), "values": values, **changes}
        path.write_text(json.dumps(document))
        return path

    return write


def exported(text: str) -> dict[str, str]:
    """Return the durations of Lockwright's variables in the output of `env`."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {k: v for k, v in pairs if k.startswith("LOCKWRIGHT_") and k.endswith("_NS")}


def test_measured_values_are_used(cli: Cli, tmp_path: Path) -> None:
    """The values follow from the measured times, and the next run has them."""
    done = cli("calibrate", "--runs", "1")
    assert done.status == 0, done.err
    document = json.loads((tmp_path / "config/lockwright/calibration.json").read_text())
    measured = {name: found["median"] for name, found in document["measured"].items()}
    assert all(value > 0 for value in measured.values())
    assert {"pause", "turn", "clock", "switch", "sleep", "wake"} <= set(measured)
    # A waiter polls at least as long as the call that wakes a thread takes to start.
    values = document["values"]
    spin = values["*"]["spin-ns"]
    assert spin == pytest.approx(measured["sleep"] + measured["turnaround 10 us"], abs=1)
    if "transfer" in measured:
        grace = values["mutexee"]["grace-ns"]
        assert grace == pytest.approx(3 * measured["transfer"] + measured["pause"], abs=1)
        assert values["mutexee"] == values["mutexee-timeout"]
    for text in (f"{spin:,}", "Written: "):
        assert text in done.out
    assert exported(cli("run", "--lock", "mcs-stp", "env").out) == {
        "LOCKWRIGHT_MCS_STP_SPIN_NS": str(spin)
    }


def test_another_output_file(cli: Cli, tmp_path: Path) -> None:
    """--output writes only that file, and prints the variable that makes commands use it."""
    path = tmp_path / "mine.json"
    done = cli("calibrate", "--runs", "1", "--output", path)
    assert f"LOCKWRIGHT_CALIBRATION={path}" in done.out
    assert not (tmp_path / "config").exists()
    assert exported(cli("run", "--lock", "mcs-stp", "env").out) == {}
    named = {"LOCKWRIGHT_CALIBRATION": str(path)}
    assert len(exported(cli("run", "--lock", "mcs-stp", "env", env=named).out)) == 1
    cli("calibrate", "--output", "/nonexistent/c.json").refuses("/nonexistent/c.json", "--output")


def test_values_of_one_lock(cli: Cli, settings: Settings) -> None:
    """A lock's own values precede the common ones, within the bounds of its parameters."""
    path = settings({"*": {"spin-ns": 7, "batch": 0}, "clh-stp": {"spin-ns": 8}})
    for lock, value in (("mcs-stp", "7"), ("clh-stp", "8")):
        name = f"LOCKWRIGHT_{lock.upper().replace('-', '_')}_SPIN_NS"
        assert exported(cli("run", "--lock", lock, "env").out) == {name: value}
    assert exported(cli("run", "--lock", "ttas", "env").out) == {}
    least = "LOCKWRIGHT_HMCS_BATCH=1\n"
    assert least in cli("run", "--lock", "hmcs", "env").out, "zero is below the least"
    without = {"LOCKWRIGHT_CALIBRATION": "none"}
    assert exported(cli("run", "--lock", "mcs-stp", "env", env=without).out) == {}
    assert path.exists()


@pytest.mark.parametrize("variable", ["LOCKWRIGHT_SPIN_NS", "LOCKWRIGHT_MCS_STP_SPIN_NS"])
def test_the_environment_has_precedence(cli: Cli, settings: Settings, variable: str) -> None:
    """The user may set a value for one lock or for all; `info` names the variable."""
    settings({"*": {"spin-ns": 7777}})
    variables = {variable: "55"}
    assert exported(cli("run", "--lock", "mcs-stp", "env", env=variables).out) == variables
    info = cli("info", "mcs-stp", env=variables).out
    assert f"LOCKWRIGHT_MCS_STP_SPIN_NS: 55 ns ({variable}; by default 10,000 ns)" in info
    assert "7,777" not in info


def test_info_names_the_source_of_a_value(cli: Cli, settings: Settings) -> None:
    assert "LOCKWRIGHT_MCS_STP_SPIN_NS: 10,000 ns (default)" in cli("info", "mcs-stp").out
    settings({"*": {"spin-ns": 7777}})
    assert "7,777 ns (calibrated; by default 10,000 ns)" in cli("info", "mcs-stp").out


def test_compare_uses_and_records_the_values(cli: Cli, settings: Settings, tmp_path: Path) -> None:
    """The runs of a lock have its values, and the results record them."""
    settings({"*": {"spin-ns": 7777}})
    log = tmp_path / "log"
    script = (
        "import os, threading; threading.Lock()\n"
        f"open({str(log)!r}, 'a').write(os.environ.get('LOCKWRIGHT_MCS_STP_SPIN_NS', '-') + ' ')"
    )
    result = tmp_path / "result.json"
    done = cli(
        *("compare", "--locks", "mcs-stp", "--runs", "1", "--warm-up-runs", "0"),
        *("--json", result, "--", "python3", "-c", script),
    )
    assert done.status == 0, done.err
    # The probe runs, of which there are more if one takes long, and the baseline have none.
    *without, last = sorted(log.read_text().split())
    assert (set(without), last) == ({"-"}, "7777")
    assert len(without) >= 2
    facts = json.loads(result.read_text())["provenance"]
    assert facts["LOCKWRIGHT_MCS_STP_SPIN_NS"] == "7777 (calibrated)"


def test_a_file_of_another_machine_is_not_used(cli: Cli, settings: Settings) -> None:
    machine = {"processor": "Z80", "processors": 1}
    settings({"*": {"spin-ns": 7}}, machine=machine)
    done = cli("run", "--lock", "mcs-stp", "env")
    assert done.status == 0
    assert exported(done.out) == {}
    assert len(done.err.splitlines()) == 1
    assert "1 x Z80" in done.err
    assert "lockwright calibrate" in done.err
    info = cli("info", "mcs-stp").out
    assert "10,000 ns (default)" in info
    assert "1 x Z80" in info


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
def test_a_malformed_file_is_refused(cli: Cli, settings: Settings, text: str) -> None:
    path = settings({})
    path.write_text(text)
    for words in (["run", "--lock", "mcs-stp", "true"], ["info", "mcs-stp"]):
        cli(*words).refuses(str(path), "calibrate")


def test_a_named_file_has_to_exist(cli: Cli) -> None:
    named = {"LOCKWRIGHT_CALIBRATION": "/nonexistent/c.json"}
    cli("run", "--lock", "mcs-stp", "true", env=named).refuses("/nonexistent/c.json", "--output")
