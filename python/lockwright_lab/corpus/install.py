"""Programs of cases from public registries, each version in a folder of its own."""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.run.process_runner import last_lines

from lockwright_lab.corpus.case import Case, Side
from lockwright_lab.study.campaign.local_machine import missing

_LIMIT = 1800.0
"""Seconds of one step of an installation: building a library takes minutes."""

_DONE = ".installed"
_LOG = "install.log"
_ARCHIVE = "http://deb.debian.org/debian"
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def folder_of(case: Case, side: Side, cache: Path) -> Path:
    """Return the folder of an installation, which sides with the same one share."""
    used = [each for each in sorted(case.path.parent.iterdir()) if each.name in side.build]
    key = [
        *(side.pip, side.debian, side.suite, side.build, sys.version_info[:2]),
        {name: text for name, text in _variables(side).items() if f"${name}" in side.build},
        {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in used},
        str(case.path.parent) if used else "",
    ]
    return cache / "corpus" / hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]


def _variables(side: Side) -> dict[str, str]:
    return {"version": side.version, **side.words}


def install(case: Case, side: Side, cache: Path) -> Path:
    """Install one version of a case's program, unless it is, and return its folder. Raises
    LockwrightError, with the last line of what failed."""
    if absent := missing(case.program):
        packages = " ".join(case.program.packages)
        todo = f"apt-get install {packages}" if packages else "install it, or leave the case out"
        raise LockwrightError(f"{case.name} needs {', '.join(absent)}", todo)
    folder = folder_of(case, side, cache)
    if (folder / _DONE).exists():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if not (folder / _DONE).exists():
                print_line(f"installing {case.name} {side.version}")
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                _Installation(case, side, folder, cache).make()
                (folder / _DONE).touch()
    except OSError as error:
        raise LockwrightError(
            f"cannot install into {folder}: {error.strerror}", "name another --cache"
        ) from error
    return folder


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other commands from the same installation during the block."""
    with folder.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Installation:
    """The steps of one installation."""

    def __init__(self, case: Case, side: Side, folder: Path, cache: Path) -> None:
        self._what = f"{case.name} {side.version}"
        self._case, self._side, self._folder, self._cache = case, side, folder, cache

    def make(self) -> None:
        """Make all steps of the side. Raises LockwrightError if one fails."""
        side, folder = self._side, self._folder
        if side.pip:
            self._pip()
        if side.debian:
            for package in self._downloaded():
                self._step(["dpkg-deb", "-x", str(package), str(folder)])
                package.unlink()
        if side.build:
            self._step(["sh", "-ec", side.build])

    def _pip(self) -> None:
        if importlib.util.find_spec("pip") is None:
            raise LockwrightError(
                f"cannot install {self._what}: {sys.executable} has no pip",
                f"{sys.executable} -m ensurepip",
            )
        wanted = self._folder / "requirements.txt"
        wanted.write_text("\n".join(self._side.pip) + "\n")
        options = ["--only-binary", ":all:", "--no-deps", "--disable-pip-version-check"]
        target = ["--target", str(self._folder), "-r", str(wanted)]
        self._step([sys.executable, "-m", "pip", "install", *options, *target])

    def _downloaded(self) -> list[Path]:
        """Download the packages with apt-get, which checks their signatures, by a list of sources
        that only this release is in."""
        state = self._cache / "apt" / self._side.suite
        for name in ("lists/partial", "archives/partial"):
            (state / name).mkdir(parents=True, exist_ok=True)
        sources = state / "sources.list"
        sources.write_text(f"deb [signed-by={_KEYS}] {_ARCHIVE} {self._side.suite} main\n")
        apt = ["apt-get", "-o", f"Dir::Etc::SourceList={sources}"]
        apt += ["-o", "Dir::Etc::SourceParts=/dev/null", "-o", f"Dir::State::Lists={state}/lists"]
        apt += ["-o", f"Dir::Cache={state}", "-o", "APT::Sandbox::User=root", "-q"]
        with _alone(state):
            if not any(state.glob("lists/*_Packages*")):
                self._step([*apt, "update"])
            self._step([*apt, "download", *self._side.debian])
        return sorted(self._folder.glob("*.deb"))

    def _step(self, words: Sequence[str]) -> None:
        log = self._folder / _LOG
        known = {"folder": self._folder, "case": self._case.path.parent, "python": sys.executable}
        environment = os.environ | _variables(self._side)
        environment |= {name: str(value) for name, value in known.items()}
        with log.open("ab") as out:
            try:
                done = subprocess.run(
                    words,
                    cwd=self._folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    timeout=_LIMIT,
                    check=False,
                )
                problem = f"status {done.returncode}" if done.returncode else ""
            except subprocess.TimeoutExpired:
                problem = f"it took more than {_LIMIT:g} s"
            except FileNotFoundError:
                problem = f"there is no {words[0]}"
        if problem:
            said = last_lines(log.read_text(errors="replace")[-4000:])
            raise LockwrightError(
                f"cannot install {self._what}: {problem}: {said}".rstrip(": "),
                f"see {log}; is there a network?",
            )
