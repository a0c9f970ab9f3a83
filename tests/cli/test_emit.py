"""`lockwright emit`: each output is used as its user would, as far as that is possible here."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from advise import examples
from lockwright.machine import calibration
from lockwright.preload.locks import DEFAULT_LOCK, registry
from lockwright.profile.record import RwLock

from .conftest import Cli, Program


def installed(cli: Cli, lock: str) -> Path:
    """Return the path of a lock's library."""
    return Path(cli("path", lock).out.strip())


@pytest.mark.parametrize("space", [False, True])
def test_the_script_starts_a_program_under_the_lock(
    cli: Cli, program: Program, tmp_path: Path, space: bool
) -> None:
    """The lock's library comes first, what was preloaded stays, and the status is the program's."""
    library = tmp_path / ("a space" if space else "none") / "liblockwright-ttas.so"
    library.parent.mkdir()
    shutil.copy(installed(cli, "ttas"), library)
    script = tmp_path / "wrapper"
    script.write_text(cli("emit", "sh", "--lock", "ttas", "--library", library).out)
    script.chmod(0o755)
    check = 'grep -q liblockwright-ttas /proc/self/maps; echo "$? $LD_PRELOAD"; exit 3'
    done = subprocess.run(
        [script, "sh", "-c", check],
        env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": "libm.so.6"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    entry = library.name if space else str(library)
    assert (done.stdout, done.returncode) == (f"0 {entry}:libm.so.6\n", 3), done.stderr
    worker = subprocess.run([script, program("worker"), "2", "500"], timeout=60)
    assert worker.returncode == 0


def test_the_drop_in_is_one_that_systemd_accepts(cli: Cli, tmp_path: Path) -> None:
    """`systemd-analyze verify` has no complaint; the variable is that of `run`."""
    text = cli("emit", "systemd", "some", "--lock", "ttas").out
    assert "/etc/systemd/system/some.service.d/" in text
    (tmp_path / "some.service").write_text("[Service]\nExecStart=/bin/true\n")
    drop_in = tmp_path / "some.service.d" / "lockwright.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(text)
    assert f'Environment="LD_PRELOAD={installed(cli, "ttas")}"\n' in text
    if (analyse := shutil.which("systemd-analyze")) is not None:
        done = subprocess.run(
            [analyse, "verify", "--man=no", tmp_path / "some.service"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "lockwright.conf" not in done.stderr


def test_a_unit_and_its_libraries(cli: Cli, tmp_path: Path) -> None:
    """What systemd says of the unit's LD_PRELOAD is appended; a library in /home is remarked."""
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(
        "#!/bin/sh\necho 'A=1 LD_PRELOAD=/old/liblockwright-adaptive.so:/old/liblockwright.so"
        ":/x/libjemalloc.so.2 B=2'\n"
    )
    systemctl.chmod(0o755)
    words = ["emit", "systemd", "a%b.service", "--lock", "ttas"]
    cli(*words).refuses("'a%b.service' is not the name of a unit")
    words[2] = "a.service"
    library = "/home/me/100%/liblockwright-ttas.so"
    text = cli(*words, "--library", library, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).out
    entries = f"{library.replace('%', '%%')}:/x/libjemalloc.so.2"
    assert f'Environment="LD_PRELOAD={entries}"\n' in text
    assert "ProtectHome=" in text


def test_the_lines_for_an_image(cli: Cli, tmp_path: Path) -> None:
    """COPY and ENV, carried out in a directory, put the lock under a program."""
    text = cli("emit", "docker", "--lock", "ttas").out
    copied = re.search(r"^COPY (\S+) (\S+)$", text, re.MULTILINE)
    variable = re.search(r"^ENV LD_PRELOAD=([^$\s]+)", text, re.MULTILINE)
    command = re.search(r"cp (\S+) \.$", text, re.MULTILINE)
    assert copied is not None
    assert variable is not None
    assert command is not None
    inside = tmp_path / copied[2].lstrip("/")
    inside.mkdir(parents=True)
    shutil.copy(command[1], inside / copied[1])
    library = tmp_path / variable[1].lstrip("/")
    done = subprocess.run(
        ["sh", "-c", "grep -c liblockwright-ttas /proc/self/maps"],
        env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(library)},
        capture_output=True,
        timeout=60,
    )
    assert int(done.stdout) > 0
    version = re.search(r"glibc (2\.\d+) or later", text)
    assert version is not None
    assert f"GLIBC_{version[1]}".encode() in Path(command[1]).read_bytes()


def test_the_patch_for_a_deployment(cli: Cli) -> None:
    """The volume, its mounts and the variable fit together."""
    text = cli("emit", "kubernetes", "--container", "web", "--image", "r/lockwright:1").out
    spec = yaml.safe_load(text)["spec"]["template"]["spec"]
    (first,), (container,) = spec["initContainers"], spec["containers"]
    assert container["name"] == "web"
    (mount,) = container["volumeMounts"]
    assert mount["name"] == spec["volumes"][0]["name"] == first["volumeMounts"][0]["name"]
    source, target = first["command"][1:]
    assert target.rstrip("/") == first["volumeMounts"][0]["mountPath"]
    (library,) = container["env"]
    assert library == {"name": "LD_PRELOAD", "value": f"{mount['mountPath']}/liblockwright.so"}
    assert Path(source).name == "liblockwright.so"


@pytest.mark.parametrize("recipe", [["sh"], ["systemd", "some"], ["docker"]])
def test_the_default_is_a_library_of_its_own(cli: Cli, recipe: list[str]) -> None:
    """It has its reader-writer lock without a variable, and the calibration of its lock."""
    text = cli("emit", *recipe).out
    assert text == cli("emit", *recipe, "--lock", "default").out
    assert "liblockwright.so" in text
    assert "LOCKWRIGHT_" not in text
    assert "with the default, adaptive and adaptive-rw, in place of its locks." in text


def test_the_default_has_the_calibration_of_its_lock(cli: Cli, tmp_path: Path) -> None:
    lock = registry().find(DEFAULT_LOCK)
    number = lock.tunables[0]
    path = tmp_path / "calibration.json"
    calibration.write(path, {}, {lock.name: {number.name: number.most}}, None)
    text = cli("emit", "sh", env={"LOCKWRIGHT_CALIBRATION": str(path)}).out
    assert f"{number.variable}={number.most} exec" in text


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["sh", "--lock", "nonsense"], "nonsense"),
        (["sh", "--library", "lib.so"], "not an absolute path"),
        (["sh", "--library", "/a:b/lib.so"], "a colon"),
        (["systemd", "a.socket"], "a.socket is not a service"),
        (["docker", "--library", "/nowhere/lib.so"], "/nowhere/lib.so does not exist"),
        (["kubernetes", "--container", "A b", "--image", "i"], "'A b' is not the name"),
        (["kubernetes", "--container", "a", "--image", "i i"], "'i i' is not an image"),
    ],
)
def test_bad_input(cli: Cli, words: list[str], fault: str) -> None:
    """One line names the fault."""
    cli("emit", *words).refuses(fault)


def test_the_lock_of_a_profile(cli: Cli, tmp_path: Path) -> None:
    """Without a description of the machine it is the default, where threads wait."""
    profile = tmp_path / "profile.json"
    mutex = examples.mutex(held=1e6, contended=100, waited=0.5 * examples.SECOND, threads=2)
    profile.write_text(examples.profile(mutex, lock_calls=1e5).to_json())
    assert f"{installed(cli, 'default')}$" in cli("emit", "sh", "--profile", profile).out
    cli("emit", "sh", "--profile", profile, "--lock", "ttas").refuses("give one of them")
    profile.write_text(examples.profile(examples.mutex(held=10, entries=9)).to_json())
    cli("emit", "sh", "--profile", profile).refuses("names no lock", "keep the C library's")
    table = RwLock("table", mutex.place, mutex.address, 1, 2, mutex, examples.mutex())
    made = replace(examples.profile(lock_calls=1e5), rwlocks=(table,))
    profile.write_text(made.to_json())
    assert f"{installed(cli, 'default')}$" in cli("emit", "sh", "--profile", profile).out
