"""Shell completion of the values of options and arguments."""

# In click before 8.3, CompletionItem has no type parameter.
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem

Completer: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]"


def _lock_names() -> list[str]:
    from lockwright.base.errors import LockwrightError
    from lockwright.preload.locks import registry

    try:
        return registry().names
    except LockwrightError:
        return []


def _rwlock_names() -> list[str]:
    from lockwright.base.errors import LockwrightError
    from lockwright.preload.rwlocks import rwlocks

    try:
        return list(rwlocks())
    except LockwrightError:
        return []


def _values_of_rwlock() -> list[str]:
    from lockwright.preload.rwlocks import KEEP, MUTEX

    return [KEEP, MUTEX, *_rwlock_names()]


def one_name(names: Callable[[], Iterable[str]]) -> Completer:
    """Return a completer of one of these names."""

    def complete(_: click.Context, __: click.Parameter, prefix: str) -> list[CompletionItem[str]]:
        return [CompletionItem(name) for name in names() if name.startswith(prefix)]

    return complete


def name_list(names: Callable[[], Iterable[str]]) -> Completer:
    """Return a completer of a list with commas, which offers each name once."""

    def complete(_: click.Context, __: click.Parameter, prefix: str) -> list[CompletionItem[str]]:
        before, comma, last = prefix.rpartition(",")
        return [
            CompletionItem(before + comma + name)
            for name in names()
            if name.startswith(last) and name not in before.split(",")
        ]

    return complete


def _file_names(_: click.Context, __: click.Parameter, prefix: str) -> list[CompletionItem[str]]:
    return [CompletionItem(prefix, type="file")]


def lock_or_file(
    context: click.Context, option: click.Parameter, prefix: str
) -> list[CompletionItem[str]]:
    """Complete the name of a lock or reader-writer lock, or else that of a file."""
    return any_lock(context, option, prefix) or _file_names(context, option, prefix)


lock = one_name(_lock_names)
any_lock = one_name(lambda: [*_lock_names(), *_rwlock_names()])
tortured = one_name(lambda: ["all", *_lock_names(), "rwlocks", *_rwlock_names()])
lock_or_default = one_name(lambda: ["default", *_lock_names()])
locks = name_list(lambda: ["all", *_lock_names()])
locks_and_default = name_list(lambda: ["all", "default", *_lock_names()])
rwlocks = name_list(lambda: ["all", *_values_of_rwlock()])
command_line = _file_names
"""Completer of a program and its arguments."""
