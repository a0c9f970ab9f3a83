"""`lockwright emit`: files that put a lock under a program where it is started by others."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockwright.commands.common import complete, grammar
from lockwright.commands.common.groups import Group

if TYPE_CHECKING:
    from lockwright.emit.library import Library


@click.group("emit", cls=Group)
def command() -> None:
    """Print what puts a lock under a service, a container or a script.

    Example: lockwright emit systemd mariadb.service > lockwright.conf
    """


def _library_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        grammar.shared(
            "--library", "The program finds the library there.  [default: where it is installed]"
        ),
        grammar.lock(
            "Put this in place; 'default' is what 'run' takes.  [default: default]",
            complete.lock_or_default,
        ),
        grammar.shared(
            "--profile",
            "Instead, what 'lockwright advise' names first for this profile.",
            "profile_file",
        ),
    ):
        function = option(function)
    return function


def _library(lock: str | None, profile: Path | None, path: Path | None, *, here: bool) -> "Library":
    """profile: names the lock; here: the program runs on this machine, so that its calibration
    applies."""
    from lockwright.base.errors import LockwrightError
    from lockwright.emit.library import Library
    from lockwright.machine import calibration
    from lockwright.preload.locks import DEFAULT, check_preloadable, registry
    from lockwright.preload.rwlocks import parts_of

    locks = registry()
    if profile is not None:
        if lock is not None:
            raise LockwrightError("--lock and --profile both name a lock", "give one of them")
        lock = _advised(profile)
    name = lock or DEFAULT
    installed = locks.path_of(name)
    if path is not None:
        if not path.is_absolute():
            raise LockwrightError(
                f"--library {path} is not an absolute path",
                "the program may be started in another directory: give the whole path",
            )
        check_preloadable(path)
    mutex, _ = parts_of(name)
    settings = calibration.calibrated_variables(locks, [mutex], {})[mutex] if here else {}
    return Library(name, path or installed, settings)


def _advised(path: Path) -> str:
    """Return the lock that the advice on a profile names first, or DEFAULT if it is named for the
    reader-writer locks only. Raises LockwrightError if none."""
    from lockwright.base.errors import LockwrightError
    from lockwright.predict.advised import advise_here
    from lockwright.preload.locks import DEFAULT
    from lockwright.profile import record

    advice = advise_here(record.read(path))
    names = [each.lock for each in advice.shortlist]
    if not names and DEFAULT in [each.lock for each in advice.rwlocks]:
        return DEFAULT
    if not names:
        raise LockwrightError(
            f"'lockwright advise {path}' names no lock", "keep the C library's, or give --lock"
        )
    return names[0]


@command.command("sh")
@_library_options
def sh(lock: str | None, profile_file: Path | None, library: Path | None) -> None:
    """Print a shell script that starts its arguments under a lock."""
    from lockwright.emit import recipes

    click.echo(recipes.wrapper(_library(lock, profile_file, library, here=True)), nl=False)


@command.command("systemd")
@click.argument("unit")
@_library_options
def systemd(unit: str, lock: str | None, profile_file: Path | None, library: Path | None) -> None:
    """Print a drop-in for the service UNIT.

    If the unit sets LD_PRELOAD on this machine, the drop-in retains its libraries.
    """
    from lockwright.emit import recipes

    name = _service_name(unit)
    found = _library(lock, profile_file, library, here=True)
    click.echo(recipes.systemd(found, name, _preloaded_by(name)), nl=False)


def _service_name(unit: str) -> str:
    from lockwright.base.errors import LockwrightError

    # The characters of a unit's name: systemd.unit(5).
    if not re.fullmatch(r"[A-Za-z0-9:_.\\@-]+", unit):
        raise LockwrightError(
            f"'{unit}' is not the name of a unit", "give a name such as mariadb.service"
        )
    name = unit if "." in unit else f"{unit}.service"
    if not name.endswith(".service"):
        raise LockwrightError(f"{name} is not a service", "only services start programs")
    return name


_OF_LOCKS = re.compile(r"liblockwright(-.*)?\.so")


def _preloaded_by(unit: str) -> str:
    """Return the LD_PRELOAD of a unit without the libraries of locks; '' if unknown."""
    if (systemctl := shutil.which("systemctl")) is None:
        return ""
    words = [systemctl, "show", "--property=Environment", "--value", "--", unit]
    try:
        shown = subprocess.run(words, capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"(?:^|[ \"])LD_PRELOAD=([^ \"\n]*)", shown)
    entries = found[1].split(":") if found else []
    return ":".join(e for e in entries if e and not _OF_LOCKS.fullmatch(Path(e).name))


@command.command("docker")
@_library_options
def docker(lock: str | None, profile_file: Path | None, library: Path | None) -> None:
    """Print lines for a Dockerfile."""
    from lockwright.emit import recipes

    click.echo(
        recipes.docker(_readable(_library(lock, profile_file, library, here=False))), nl=False
    )


@command.command("kubernetes")
@click.option(
    "--container", metavar="NAME", required=True, help="The container whose program is to run so."
)
@click.option(
    "--image",
    metavar="IMAGE",
    required=True,
    help="An image that has the library in /opt/lockwright, as after 'lockwright emit docker'.",
)
@_library_options
def kubernetes(
    container: str, image: str, lock: str | None, profile_file: Path | None, library: Path | None
) -> None:
    """Print a patch for a deployment: an init container copies the library into a volume."""
    from lockwright.base.errors import LockwrightError
    from lockwright.emit import recipes

    # The names of containers are labels of DNS: RFC 1123.
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", container):
        raise LockwrightError(
            f"'{container}' is not the name of a container",
            "it has lower case letters, digits and '-' only",
        )
    if not re.fullmatch(r"[A-Za-z0-9][\w./:@-]*", image):
        raise LockwrightError(f"'{image}' is not an image", "give one such as registry/name:tag")
    found = _readable(_library(lock, profile_file, library, here=False))
    click.echo(recipes.kubernetes(found, container, image), nl=False)


def _readable(library: "Library") -> "Library":
    from lockwright.base.errors import LockwrightError

    if not library.path.is_file():
        raise LockwrightError(
            f"{library.path} does not exist", "give --library of a file on this machine"
        )
    return library
