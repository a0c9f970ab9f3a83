"""What a shell offers for the values of options and arguments."""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]


def _lock_names() -> list[str]:
    from lockwright.base.errors import LockwrightError
    from lockwright.preload.locks import registry

    try:
        return registry().names
    except LockwrightError:
        return []


def _program_names() -> list[str]:
    from lockwright.study.program.catalogue import names

    return names()


def _one(names: Callable[[], Iterable[str]]) -> Completer:
    """Completes a name."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem[str]]:
        return [CompletionItem(name) for name in names() if name.startswith(begun)]

    return complete


def _several(names: Callable[[], Iterable[str]]) -> Completer:
    """Completes the last of several names with commas; none is offered twice."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem[str]]:
        before, comma, last = begun.rpartition(",")
        left = [name for name in names() if name not in before.split(",")]
        return [CompletionItem(before + comma + name) for name in left if name.startswith(last)]

    return complete


def _file_names(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem[str]]:
    return [CompletionItem(begun, type="file")]


def lock_or_file(
    context: click.Context, option: click.Parameter, begun: str
) -> list[CompletionItem[str]]:
    """Completes the name of a lock, or else of a file."""
    return lock(context, option, begun) or _file_names(context, option, begun)


lock = _one(_lock_names)
lock_or_all = _one(lambda: ["all", *_lock_names()])
locks = _several(lambda: ["all", *_lock_names()])
program = _one(_program_names)
programs = _several(lambda: ["all", *_program_names()])
command_line = _file_names
"""For a program and its arguments."""
