"""The fixtures of tests/cli, which the laboratory's commands share."""

from cli.conftest import (
    Cli,
    Program,
    Refuses,
    Result,
    cli,
    command,
    count_runs,
    environment,
    on_a_terminal,
    program,
    refuses,
)

__all__ = [
    "Cli",
    "Program",
    "Refuses",
    "Result",
    "cli",
    "command",
    "count_runs",
    "environment",
    "on_a_terminal",
    "program",
    "refuses",
]
