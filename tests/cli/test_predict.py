"""`lockwright predict` and `lockwright what-if`, of a profile that is made here."""

import csv
import dataclasses
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.cli import main
from lockwright.machine import provenance
from lockwright.run import tools
from lockwright.simulate import progress
from lockwright_lab import PACKAGE
from predict import examples

from .conftest import Cli, Program

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)

SHORT = ("--seconds", "0.001", "--runs", "1")
MACHINE = ("--machine", "xeon-8260x2", *SHORT)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profile.json"
    path.write_text(examples.two_workers().to_json())
    return path


def test_a_prediction_is_called_so_in_every_form(cli: Cli, profile: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "html")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    words = ("--locks", "mcs-spin,futex", "--threads", "2,32")
    result = cli("predict", profile, *MACHINE, *words, *options)
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("Predicted, not measured: program on ")
    assert all(f"{count} threads, predicted" in result.out for count in (2, 32))
    assert "Unknown: the distribution of the time between sections" in result.out
    written = json.loads(files["json"].read_text())
    assert written["predicted"] is True
    rows = {(row["lock"], row["threads"]): row for row in written["rows"]}
    assert len(rows) == 6
    for (lock, _), row in rows.items():
        low, high = row["ratio"]["low"], row["ratio"]["high"]
        assert low <= row["ratio"]["value"] <= high
        assert lock != "pthread" or low == high == 1
        assert 1 <= row["ranks"][0] <= row["ranks"][1] <= 3
    assert set(written["reasons"]) == {"2", "32"}
    assert len(written["assumptions"]) == 3
    table = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert {row["predicted"] for row in table} == {"1"}
    assert "None was measured" in files["html"].read_text()


def test_the_model_can_be_simulated(cli: Cli, profile: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.toml"
    assert cli("predict", profile, *MACHINE, "--locks", "futex", "--model", model).status == 0
    words = ("--workload", f"model:{model}", "--locks", "futex", "--threads", "2,16")
    result = cli("simulate", *words, "--seconds", "0.0005")
    assert result.status == 0, result.err
    assert "Simulated, not measured: model of program --all on" in result.out


def test_the_same_options_give_the_same_files(cli: Cli, profile: Path, tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        cli("predict", profile, *MACHINE, "--locks", "futex", "--json", tmp_path / name)
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]


def test_changes(cli: Cli, tmp_path: Path) -> None:
    """Of a mutex that is always held: shorter sections and several mutexes help."""
    one = examples.mutex(
        "hot", acquisitions=200_000, section=4900, users=(1, 2, 3, 4), contended=190_000, wait=14e3
    )
    threads = [examples.thread(n, 50_000, 47_500, on_processor=0.3) for n in (1, 2, 3, 4)]
    path = tmp_path / "profile.json"
    path.write_text(examples.profile([one], threads).to_json())
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "html")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    words = ("--mutex", "hot", "--section", "0.5", "--shards", "8", "--atomic", "--threads", "8")
    result = cli("what-if", path, *MACHINE, *words, "--lock", "mcs-spin", *options)
    assert (result.status, result.err) == (0, "")
    assert "Predicted change from 4 threads under pthread" in result.out
    written = json.loads(files["json"].read_text())
    gains = {row["change"]: row["throughput"]["value"] for row in written["rows"]}
    assert list(gains.values()) == sorted(gains.values(), reverse=True)
    assert gains["sections of hot 0.5 times as long"] > 1.5
    assert gains["8 mutexes instead of hot, taken equally often"] > 2
    assert gains["an atomic variable instead of hot and its sections"] > 2
    assert gains["8 threads"] < 1.3
    assert "mcs-spin for hot" in gains
    assert "None was measured" in files["html"].read_text()
    assert len(list(csv.DictReader(io.StringIO(files["csv"].read_text())))) == 5


@pytest.fixture
def contended(tmp_path: Path) -> Path:
    """Write a profile of four threads that mostly wait for a mutex with long sections."""
    one = examples.mutex(
        "hot", acquisitions=40_000, section=24_900, users=(1, 2, 3, 4), contended=38_000, wait=7e4
    )
    threads = [examples.thread(n, 10_000, 9_500, on_processor=0.3) for n in (1, 2, 3, 4)]
    path = tmp_path / "contended.json"
    path.write_text(examples.profile([one], threads, cpu_user=1.2e9, runnable=1.3).to_json())
    return path


def describe(folder: Path, processors: int) -> None:
    """Describe this machine as one of a few processors, for which few locks are simulated."""
    described = folder / "config/lockwright/machine.toml"
    described.parent.mkdir(parents=True)
    text = (PACKAGE / "machines/xeon-8260x2.toml").read_text()
    for name, count in {"packages": 1, "cores_per_cache": processors}.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {count}", text, flags=re.MULTILINE)
    described.write_text(text)


def test_advice_has_predicted_gains(cli: Cli, contended: Path, tmp_path: Path) -> None:
    """The largest first, and marked; of the machine that is described as this one."""
    describe(tmp_path, processors=8)
    result = cli("advise", contended, "--json", tmp_path / "advice.json")
    # Simulations that take more than seconds show their progress.
    other = [line for line in result.err.splitlines() if " simulations, about " not in line]
    assert (result.status, other) == (0, [])
    _, _, changes = result.out.partition("\nchange ")
    first, second, *_ = changes.splitlines()
    assert first.strip().startswith("predicted ")
    assert " with 8 mutexes: hot: If its users" in first
    assert " with sections half as long: hot: Shorten" in second
    assert "The model was not compared with the profile: that is" in " ".join(result.out.split())
    written = json.loads((tmp_path / "advice.json").read_text())
    gains = written["predicted"]["gains"]
    kinds = list(dict.fromkeys(each["kind"] for each in gains))
    # Of a reader-writer lock nothing is predicted: which sections only read is not known.
    assert kinds == ["sharding", "smaller section", "another lock", "reader-writer lock"]
    assert [each["kind"] for each in written["changes"]] == [*kinds[:2], kinds[3]]
    assert gains.pop()["throughput"] is None
    for gain in gains:
        assert gain["low"] <= gain["throughput"] <= gain["high"]
    assert gains[0]["throughput"] > 2 > gains[1]["throughput"] > 1.5


@pytest.mark.full("both are tested with figures of their own")
def test_advise_and_what_if_predict_the_same(cli: Cli, tmp_path: Path) -> None:
    """Of one profile from this machine, in which threads lacked processors: the same figures, with
    the same warnings."""
    describe(tmp_path, processors=2)
    one = examples.mutex(
        "hot", acquisitions=40_000, section=24_900, users=(1, 2, 3, 4), contended=38_000, wait=7e4
    )
    threads = [examples.thread(n, 10_000, 9_500, on_processor=0.3) for n in (1, 2, 3, 4)]
    profile = examples.profile([one], threads, cpu_user=1.2e9)
    path = tmp_path / "here.json"
    here = dataclasses.replace(profile, provenance=provenance.machine())
    path.write_text(here.to_json())
    short = " ".join(cli("advise", path, "--json", tmp_path / "advice.json").out.split())
    advised = json.loads((tmp_path / "advice.json").read_text())["predicted"]
    gains = {each["kind"]: each for each in advised["gains"]}
    words = ("--shards", "8", "--section", "0.5", "--moved")
    result = cli("what-if", path, *words, "--json", tmp_path / "out.json")
    assert result.status == 0, result.err
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    found = {row["change"].split()[0]: row["throughput"] for row in rows}
    for kind, word in (("sharding", "8"), ("smaller section", "sections")):
        gain = gains[kind]
        assert found[word] == {
            "value": gain["throughput"],
            "low": gain["low"],
            "high": gain["high"],
        }
    assert any("threads are simulated as" in each for each in advised["warnings"])
    lines = result.out.splitlines()
    assert advised["notes"] == [each for each in lines if each in advised["notes"]]
    assert set(advised["warnings"]) <= set(advised["notes"])
    assert all(each in short for each in advised["warnings"])


@pytest.mark.parametrize(
    "section", ["[later]\nns = 1\n", '[wait]\nsource = "measured by lockwright calibrate: x"\n']
)
def test_a_stale_description_of_this_machine(
    section: str, cli: Cli, profile: Path, tmp_path: Path
) -> None:
    """The user has not named the file, so the message names the command that writes it."""
    described = tmp_path / "config/lockwright/machine.toml"
    described.parent.mkdir(parents=True)
    described.write_text(f'like = "linux-eevdf"\ntitle = "here"\n{section}')
    cli("predict", profile, *SHORT).refuses(str(described), "calibrate --machine-file here")


def test_progress_without_a_terminal(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As if the simulations took long: those that fit the models, and those of the locks."""
    described = tmp_path / "lockwright/machine.toml"
    described.parent.mkdir()
    shutil.copy(PACKAGE / "machines/xeon-8260x2.toml", described)
    here = dataclasses.replace(examples.two_workers(), provenance=provenance.machine())
    profile = tmp_path / "profile.json"
    profile.write_text(here.to_json())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(progress, "_QUIET", 0.0)
    assert main(["predict", str(profile), *SHORT, "--locks", "futex"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert all(re.fullmatch(r"lockwright: .*, about \d+ s left", line) for line in lines)
    of_profile = [" simulations of the profile, " in line for line in lines]
    assert of_profile == sorted(of_profile, reverse=True)
    assert {True, False} == set(of_profile)


def test_readers(cli: Cli, profile: Path) -> None:
    words = ("--mutex", "1", "--reads", "0.9", "--lock", "futex")
    result = cli("what-if", profile, *MACHINE, *words)
    assert (result.status, result.err) == (0, "")
    assert "a reader-writer lock instead of hot, 0.9 of the sections reading" in result.out


def test_bad_requests(cli: Cli, profile: Path, tmp_path: Path) -> None:
    cli("predict", tmp_path / "none.json").refuses("none.json")
    cli("predict", profile, "--machine", "epyc").refuses("no machine is named 'epyc'")
    cli("predict", profile, "--machine", "no/file.toml").refuses("there is no file")
    cli("predict", profile, *MACHINE, "--locks", "mcss").refuses("no lock is named 'mcss'")
    cli("predict", profile, *MACHINE, "--threads", "0").refuses("--threads")
    for options, reason in (
        ((), "no change is given"),
        (("--reads", "2"), "--reads must be"),
        (("--moved", "--threads", "3"), "--moved needs --section"),
        (("--mutex", "7", "--shards", "2"), "no mutex 7"),
        (("--mutex", "cold", "--shards", "2"), "no mutex of the profile has 'cold'"),
        (("--lock", "mcss"), "no lock is named 'mcss'"),
    ):
        cli("what-if", profile, *MACHINE, *options).refuses(reason)
    for unfit, reason in (
        (examples.without_waiting(), "no thread of the profile waited"),
        (examples.of_an_earlier_version(), "earlier version"),
        (dataclasses.replace(examples.two_workers(), mechanism="attached"), "--pid"),
    ):
        profile.write_text(unfit.to_json())
        for command in ("predict", "what-if"):
            cli(command, profile, *MACHINE, *(["--threads", "4"])).refuses(reason)
    profile.write_text(examples.two_workers().to_json().replace("profile 1", "profile 2"))
    cli("predict", profile, *MACHINE).refuses("is not a profile")
    cli("simulate", "--workload", "model").refuses("--workload model:FILE")
    cli("simulate", "--workload", f"model:{profile}").refuses("is not TOML")


def test_a_profiled_program(cli: Cli, program: Program, tmp_path: Path) -> None:
    """Two threads that take turns: the profile has their times, and the model both of them."""
    path, model = tmp_path / "profile.json", tmp_path / "model.toml"
    result = cli("profile", "-o", path, "--", program("contended"))
    assert result.status == 0, result.err
    written = json.loads(path.read_text())
    assert sum(each["acquisitions"] for each in written["threads"]) > 0
    assert all(each["active"] >= 0 for each in written["threads"])
    result = cli("predict", path, *MACHINE, "--locks", "futex", "--model", model)
    assert (result.status, result.err) == (0, "")
    assert "[[role]]" in model.read_text()
