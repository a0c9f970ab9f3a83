"""Fixtures: where the command and the libraries are, and a way to run a program under a lock."""

import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import harness, leftovers, locate

# Whoever starts the tests in the background may have these ignored. Tests send them to programs
# that they start, and those inherit what is ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


_BEFORE = pytest.StashKey[set[Path]]()
_LEFT = pytest.StashKey[list[Path]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that take minutes, unless they are asked for."""
    long = [item for item in items if item.get_closest_marker("long") and not locate.LONG]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Notes what other runs have left."""
    session.config.stash[_BEFORE] = leftovers.present()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails if the tests have left files of the command, whichever test it was."""
    # Of several processes that run tests, the first one ends last.
    if hasattr(session.config, "workerinput"):
        return
    left = leftovers.left_since(session.config.stash[_BEFORE])
    session.config.stash[_LEFT] = left
    if left and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Names what was left."""
    for path in config.stash.get(_LEFT, []):
        terminalreporter.write_line(f"FAILED: the tests have left {path}", red=True)


@pytest.fixture(scope="session")
def lockwright() -> Path:
    """The path of the installed `lockwright` command."""
    return locate.lockwright()


@pytest.fixture(scope="session")
def libdir() -> Path:
    """The directory of the preload libraries and of locks.json."""
    return locate.preload_dir()


@pytest.fixture(scope="session")
def all_locks(libdir: Path) -> list[dict[str, Any]]:
    """Return the rows of locks.json, one for each algorithm, in registry order."""
    rows: list[dict[str, Any]] = json.loads((libdir / "locks.json").read_text())
    return rows


@pytest.fixture
def run_under() -> harness.RunUnder:
    """Runs a program under a lock and fails the test, with all stacks, if it hangs."""

    def run(
        lock: str | harness.Setting,
        argv: Sequence[str | Path],
        timeout: float = harness.LIMIT,
        *,
        counting: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> harness.Outcome:
        name = Path(argv[0]).name
        if obstacle := harness.obstacle(name):
            pytest.skip(obstacle)
        setting = lock if isinstance(lock, harness.Setting) else harness.Setting(lock)
        outcome = harness.run(
            argv,
            harness.environment(setting, counting=counting, extra=env),
            timeout,
            cwd=cwd,
        )
        if outcome.hung:
            pytest.fail(f"{' '.join(map(str, argv))} under {setting.label}: {outcome.describe()}")
        return outcome

    return run
