"""The fixtures of tests/cli, which the laboratory's commands share."""

from cli.conftest import (
    Cli,
    Program,
    Result,
    cli,
    command,
    count_runs,
    environment,
    on_a_terminal,
    program,
)

__all__ = [
    "Cli",
    "Program",
    "Result",
    "cli",
    "command",
    "count_runs",
    "environment",
    "on_a_terminal",
    "program",
]
