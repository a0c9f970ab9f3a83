"""Options that choose a tier of the tests; fixtures: the paths of the command and the libraries,
and `run_under`."""

import json
import os
import signal
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import harness, leftovers, locate, tiers, turns

# A background job may ignore these signals, and its children inherit that; tests send them to
# programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_BEFORE = pytest.StashKey[set[Path]]()
_LEFT = pytest.StashKey[list[Path]]()


_OF_COMMANDS = ("advise", "cli", "lab", "profile")
_LEFT_OUT = pytest.StashKey[list[str]]()
_DEADLINE = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose a tier; without one, what a marker leaves out does not run."""
    group = parser.getgroup("tiers")
    group.addoption("--all", action="store_true", dest="all_tests", help="run every test")
    group.addoption("--left-out", action="store_true", help="list what runs with --all only")
    group.addoption("--slice-of", metavar="REVISION", help="run a part of what is left out")
    group.addoption("--slices", type=int, default=20, help="the number of such parts (20)")
    group.addoption("--minutes", type=float, help="skip the tests that would start later")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, note when the time is over, and tell all modules and workers."""
    if config.getoption("all_tests"):
        os.environ["LOCKWRIGHT_TEST_ALL"] = "1"
    for line in tiers.MARKERS:
        config.addinivalue_line("markers", line)
    if minutes := config.getoption("--minutes"):
        config.stash[_DEADLINE] = time.monotonic() + 60 * minutes


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are not in the chosen tier. Those that run alone come last: each of
    them would keep the other workers waiting. They compare what was measured with what is true,
    so other load may spoil one; a fault of the program fails all three runs. Those of the commands,
    whose programs run beside others, have a second run, too; no test of a lock has one."""
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)
    for item in items:
        if item.get_closest_marker("alone"):
            item.add_marker(pytest.mark.flaky(reruns=2))
        elif item.path.relative_to(item.config.rootpath).parts[1] in _OF_COMMANDS:
            item.add_marker(pytest.mark.flaky(reruns=1))
    if locate.all_tests():
        return
    revision = config.getoption("--slice-of")
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    left_out: list[tuple[pytest.Item, str]] = []
    for item in items:
        reason = tiers.reason_to_leave_out(item)
        if reason is not None:
            left_out.append((item, reason))
        if revision:
            runs = reason is not None and tiers.in_slice(item, revision, config.option.slices)
        else:
            runs = reason is None
        (chosen if runs else others).append(item)
    if config.getoption("--left-out"):
        config.stash[_LEFT_OUT] = tiers.table(left_out)
        chosen, others = [], items[:]
    config.hook.pytest_deselected(items=others)
    items[:] = chosen


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Wait for the test's turn, which is no part of its time limit."""
    with turns.turn(alone=item.get_closest_marker("alone") is not None):
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test for which there is no time."""
    if time.monotonic() > item.config.stash.get(_DEADLINE, float("inf")):
        pytest.skip("the time of --minutes is over")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Record what other runs have left."""
    session.config.stash[_BEFORE] = leftovers.present()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if the tests have left files of the command."""
    # With several workers, the controlling process ends last.
    if hasattr(session.config, "workerinput"):
        return
    if session.config.getoption("--left-out"):
        session.exitstatus = pytest.ExitCode.OK
    left = leftovers.left_since(session.config.stash[_BEFORE])
    session.config.stash[_LEFT] = left
    if left and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the tests that are left out, why tests ran again, and the files that were left."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.write_sep("-", f"ran again: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
    for line in config.stash.get(_LEFT_OUT, []):
        terminalreporter.write_line(line)
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
