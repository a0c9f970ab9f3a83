"""Fixtures: the paths of the command and the libraries, and `run_under`."""

import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import harness, leftovers, locate

# A background job may ignore these signals, and its children inherit that; tests send them to
# programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_BEFORE = pytest.StashKey[set[Path]]()
_LEFT = pytest.StashKey[list[Path]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that take minutes, unless LOCKWRIGHT_TEST_LONG is set."""
    long = [item for item in items if item.get_closest_marker("long") and not locate.LONG]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Record what other runs have left."""
    session.config.stash[_BEFORE] = leftovers.present()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if the tests have left files of the command."""
    # With several workers, the controlling process ends last.
    if hasattr(session.config, "workerinput"):
        return
    left = leftovers.left_since(session.config.stash[_BEFORE])
    session.config.stash[_LEFT] = left
    if left and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the files that were left."""
    for path in config.stash.get(_LEFT, []):
        terminalreporter.write_line(f"FAILED: the tests have left {path}", red=True)


@pytest.fixture(scope="session")
def lockwright() -> Path:
    """Return the path of the installed `lockwright` command."""
    return locate.lockwright()


@pytest.fixture(scope="session")
def libdir() -> Path:
    """Return the directory of the preload libraries and of locks.json."""
    return locate.preload_dir()


@pytest.fixture(scope="session")
def all_locks(libdir: Path) -> list[dict[str, Any]]:
    """Return the rows of locks.json, one for each algorithm, in registry order."""
    rows: list[dict[str, Any]] = json.loads((libdir / "locks.json").read_text())
    return rows


@pytest.fixture
def run_under() -> harness.RunUnder:
    """Return a function that runs a program under a lock and fails the test if it hangs."""

    def run(
        lock: str | harness.Setting,
        argv: Sequence[str | Path],
        timeout: float = harness.LIMIT,
        *,
        counting: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> harness.Outcome:
        if obstacle := harness.obstacle(Path(argv[0]).name):
            pytest.skip(obstacle)
        setting = lock if isinstance(lock, harness.Setting) else harness.Setting(lock)
        environment = harness.environment(setting, counting=counting, extra=env)
        outcome = harness.run(argv, environment, timeout, cwd=cwd)
        if outcome.hung:
            pytest.fail(f"{' '.join(map(str, argv))} under {setting.label}: {outcome.describe()}")
        return outcome

    return run
