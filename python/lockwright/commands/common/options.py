"""Options of several commands that measure or run locks."""

from collections.abc import Callable, Collection
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from lockwright.base.errors import LockwrightError
from lockwright.commands.common import grammar

if TYPE_CHECKING:
    from lockwright.preload.other_libraries import OtherLibrary

_RWLOCK = grammar.shared(
    "--rwlock",
    "Keep the C library's reader-writer locks, or replace them by the lock, under which "
    "readers exclude each other, or by a reader-writer lock of `lockwright list --reader-writer`.  "
    "[default: keep; of `run` without --lock: adaptive-rw]",
)
_SPIN = grammar.shared(
    "--spin",
    "Keep the C library's spin locks, or replace them by the lock, if it fits into them.  "
    "[default: keep]",
)


def other_lock_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for locks other than mutexes: `rwlock` and `spin`, None by default."""
    return _RWLOCK(_SPIN(command))


_SETTINGS = (
    click.option(
        "--allocator",
        default="",
        metavar="NAME",
        help="Replace the C library's memory allocator by jemalloc, mimalloc or tcmalloc, or set it"
        " up as glibc-1-arena, glibc-cache or glibc-retain: docs/options.md.",
    ),
    click.option(
        "--pin",
        "pinning",
        default="",
        metavar="compact|scatter[:N]",
        help="Restrict the program to N processors, the closest to each other or the farthest"
        " apart.  [default of N: half of them]",
    ),
    click.option(
        "--sched",
        "scheduler",
        default="",
        metavar="batch",
        help="Run under SCHED_BATCH: a thread that wakes up preempts no other.",
    ),
    click.option(
        "--pages",
        default="",
        metavar="huge|small",
        help="Let the allocator ask for transparent huge pages, or forbid them.",
    ),
)


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of lockwright.run.settings.Settings, passed as an argument `settings`."""

    @wraps(command)
    def with_settings(**values: Any) -> Any:
        from lockwright.run.settings import DIMENSIONS, Settings

        settings = Settings(**{name: values.pop(name) for name in DIMENSIONS})
        return command(settings=settings, **values)

    return grammar.with_options(with_settings, _SETTINGS)


def meter_options() -> list[Callable[..., Any]]:
    """Return the options `energy` and `counters`."""
    return [
        grammar.shared(
            "--energy",
            "Also measure the energy of each run by RAPL: watts above idle, operations per joule. "
            "The idle machine is measured first, for some seconds.",
        ),
        grammar.shared(
            "--counters",
            "Also count cycles, instructions, cache misses, migrations, context switches and page "
            "faults of each run.",
        ),
    ]


def preload_option(**more: Any) -> Callable[..., Any]:
    """Return the option `preload`, a tuple of words. more: further arguments of click.option."""
    text = "Measure this library like the locks, preloaded in the same way; repeatable."
    return grammar.shared("--preload", text, **more)


def store_value(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Store the value of an option for `stored_value`: the callback of an option that the command
    does not get as an argument."""
    context.meta[f"lockwright {option.name}"] = value
    return value


def stored_value(name: str) -> Any:
    """Return the value that `store_value` stored for an option of the running command, or None."""
    return click.get_current_context().meta.get(f"lockwright {name}")


def other_libraries() -> "tuple[OtherLibrary, ...]":
    """Return the libraries of --preload. Raises LockwrightError if one cannot be preloaded."""
    from lockwright.preload.other_libraries import choose
    from lockwright.run.bench_program import program

    words = stored_value("preload") or ()
    return choose(words, program()) if words else ()


def name_list(text: str, option: str, known: Collection[str]) -> list[str]:
    """Return the names of a comma-separated list, each once.

    Raises LockwrightError for a name that is not `known`, and for a list without names.
    """
    names = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for name in names or [text]:
        if name not in known:
            raise LockwrightError(
                f"invalid value '{name}' for {option}", f"choose from {', '.join(known)}"
            )
    return names


def number_list(text: str, option: str, least: float) -> list[float]:
    """Return the numbers of a list such as `1,4,16`. Raises LockwrightError for other texts."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(least <= value < 1e9 for value in values):
        raise LockwrightError(
            f"'{text}' is not a list of numbers for {option}",
            f"give numbers of {least:g} or more, separated by commas",
        )
    return values


def thread_counts(text: str | None, *, most: int = 10**9) -> list[int]:
    """Return the numbers of `--threads`, each once; none without it. Raises LockwrightError for
    what is not a list of whole numbers from 1 to `most`."""
    counts = [] if text is None else number_list(text, "--threads", 1)
    for count in counts:
        if count != int(count) or count > most:
            raise LockwrightError(
                f"'{count:g}' is not a number of threads", f"give whole numbers from 1 to {most}"
            )
    return list(dict.fromkeys(map(int, counts)))
