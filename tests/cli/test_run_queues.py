"""`run --cond` and `run --sem` select the order in which waiters are woken."""

import pytest

from .conftest import Cli

COND, SEM = "LOCKWRIGHT_COND_APPEND", "LOCKWRIGHT_SEM_APPEND"


def settings(text: str) -> dict[str, str]:
    """Return the values of the two variables that the program printed."""
    pairs = (line.split("=", 1) for line in text.splitlines())
    return {pair[0]: pair[1] for pair in pairs if pair[0] in (COND, SEM)}


@pytest.mark.parametrize(
    ("options", "environment", "found"),
    [
        ([], {}, {}),
        (["--cond", "cr"], {}, {COND: "1/1000"}),
        (["--sem", "cr"], {}, {SEM: "1/1000"}),
        (["--cond", "cr", "--sem", "cr", "--stats"], {}, {COND: "1/1000", SEM: "1/1000"}),
        ([], {COND: "1/7", SEM: "0"}, {COND: "1/7", SEM: "0"}),
        (["--keep", "cond"], {}, {COND: "1"}),
        (["--keep", "sem, cond"], {SEM: "0"}, {COND: "1", SEM: "keep"}),
        (
            ["--cond", "adaptive", "--sem", "adaptive"],
            {COND: "1/7", SEM: "0"},
            {COND: "adaptive", SEM: "adaptive"},
        ),
    ],
)
def test_the_program_gets_the_variables(
    cli: Cli, options: list[str], environment: dict[str, str], found: dict[str, str]
) -> None:
    """An option has precedence over the environment."""
    result = cli(
        "run", "--lock", "mcs-stp", *options, "--", "python3", "-c", PRINT, env=environment
    )
    assert result.status == 0, result.err
    assert settings(result.out) == found


PRINT = "import os, threading; [print(k + '=' + v) for k, v in os.environ.items()]"


@pytest.mark.parametrize("variable", [COND, SEM])
@pytest.mark.parametrize("value", ["2", "1/0", "1/", "often"])
def test_an_invalid_variable_is_refused(cli: Cli, variable: str, value: str) -> None:
    """The program is not run."""
    variables = {variable: value}
    cli("run", "--lock", "mcs-stp", "true", env=variables).refuses(variable, f"'{value}'")
    cli("info", "mcs-stp", env=variables).refuses(variable, f"'{value}'")


def test_reader_writer_locks_are_kept(cli: Cli) -> None:
    words = ["--", "python3", "-c", PRINT]
    assert "LOCKWRIGHT_RWLOCK=adaptive-rw\n" in cli("run", *words).out
    assert "LOCKWRIGHT_RWLOCK=keep\n" in cli("run", "--keep", "rwlock", *words).out
