"""Each call has the same results under every lock as under the C library, except for the
differences that docs/conformance.md lists.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import pytest
from support import harness, locate
from support.harness import RunUnder

PAGE = locate.ROOT / "docs/conformance.md"


@dataclass(frozen=True)
class Difference:
    """A row of the page: a result under the C library, the result here, and exempt locks."""

    name: str
    c_library: str
    here: str
    all_but: frozenset[str]


def parse(page: str) -> list[Difference]:
    section = page.split("## Observed\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    differences = []
    for row in rows[2:]:
        name, library, here, under, reason = (cell.strip() for cell in row.strip("|").split("|"))
        assert reason, row
        head, _, names = under.partition("all but ")
        assert not head, row
        assert names or under == "all", row
        all_but = frozenset(word.strip(" `") for word in names.split(",")) - {""}
        assert all_but <= {*locate.lock_names(), "pthread"}, row
        differences.append(Difference(name, library, here, all_but))
    return differences


def observations(stdout: str) -> list[tuple[str, str]]:
    return [(name, result) for name, _, result in (s.rpartition(": ") for s in stdout.splitlines())]


@cache
def allowed() -> tuple[Difference, ...]:
    return tuple(parse(PAGE.read_text()))


@pytest.fixture(scope="module")
def library() -> list[tuple[str, str]]:
    """Return the observations under the C library."""
    outcome = harness.run(
        [locate.program("posix", "conformance")],
        harness.environment(harness.Setting(harness.LIBC)),
    ).succeeded()
    return observations(outcome.stdout)


def compare(
    run_under: RunUnder,
    setting: harness.Setting,
    library: list[tuple[str, str]],
    env: Mapping[str, str] | None = None,
) -> None:
    outcome = run_under(setting, [locate.program("posix", "conformance")], env=env).succeeded()
    observed = observations(outcome.stdout)
    assert [name for name, _ in observed] == [name for name, _ in library]
    different = {
        (name, expected, result)
        for (name, expected), (_, result) in zip(library, observed, strict=True)
        if expected != result
    }
    listed = {(d.name, d.c_library, d.here) for d in allowed() if setting.lock not in d.all_but}
    assert different == listed


#: Results do not depend on NUMA nodes: every lock once, on the most nodes.
SETTINGS = harness.all_settings(least_nodes=max(harness.NODES.values()))


@pytest.mark.sampled("the preload library is the same for locks of the same traits", memory=False)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.label)
def test_same_as_the_c_library(
    run_under: RunUnder, library: list[tuple[str, str]], setting: harness.Setting
) -> None:
    if not setting.preloaded:
        # The results do not vary.
        outcome = run_under(setting, [locate.program("posix", "conformance")])
        assert observations(outcome.stdout) == library
        return
    compare(run_under, setting, library)


@pytest.mark.parametrize("append", ["1/1000", "0"])
def test_same_with_concurrency_restriction(
    run_under: RunUnder, library: list[tuple[str, str]], append: str
) -> None:
    """Semaphores are Lockwright's only with these variables."""
    env = {"LOCKWRIGHT_COND_APPEND": append, "LOCKWRIGHT_SEM_APPEND": append}
    compare(run_under, harness.Setting(locate.lock_names()[-1]), library, env)


def test_enough_is_observed(library: list[tuple[str, str]]) -> None:
    assert len(library) > 3_500
    results = {result for _, result in library}
    errors = "EAGAIN EBUSY EDEADLK EINTR EINVAL ENOTRECOVERABLE EOVERFLOW EOWNERDEAD EPERM"
    assert {*errors.split(), "ETIMEDOUT"} <= results
    assert "hangs" not in results


@pytest.mark.parametrize(
    "fault", ["trylock_takes_held", "timeout_without_mutex", "cancel_without_mutex"]
)
def test_a_fault_is_found(library: list[tuple[str, str]], fault: str) -> None:
    preload = {"LD_PRELOAD": str(locate.program("posix", f"broken_{fault}.so"))}
    env = harness.environment(harness.Setting(harness.LIBC), extra=preload)
    # Under one fault it hangs at the end.
    with subprocess.Popen(
        [locate.program("posix", "conformance")], stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout is not None
        for expected, line in zip(library, process.stdout, strict=False):
            if observations(line) != [expected]:
                break
        else:
            pytest.fail("no result differs")
        process.kill()
