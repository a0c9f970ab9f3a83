"""The C++ tests of the algorithms, which use no preload library, pass."""

import os
import re
import subprocess

import pytest
from support import harness, locate, tiers

ROWS = locate.registry_rows()

#: Each source, and whether its tests are compiled for, and named after, each registry row.
SOURCES = {
    path.stem: '#include "rows.hpp"' in path.read_text()
    for path in sorted((locate.TESTS / "unit").glob("*_test.cpp"))
}

#: The program of the sources that are.
EACH_LOCK = "each_lock_test"

#: The sources whose threads are on as many NUMA nodes as the run declares.
ON_NODES = {
    name
    for name in SOURCES
    if "nodes_of_this_run" in (locate.TESTS / f"unit/{name}.cpp").read_text()
}


def suite_of(name: str) -> str:
    """Return the test suite of a source: that of handover_test.cpp is Handover."""
    return name.removesuffix("_test").capitalize()


def shards() -> list[tuple[str, str, str]]:
    """Return each source with a subset of its tests, and with the declared nodes if they matter."""
    found = []
    for name, by_row in SOURCES.items():
        if not by_row:
            found.append((name, "all", "0"))
        for lock, identifier in ROWS if by_row else []:
            several = name in ON_NODES and locate.reads_topology(lock)
            found += [(name, identifier, nodes) for nodes in (harness.NODES if several else ["0"])]
    return found


#: The machine with most nodes, where there are several.
SHORT = list({each[:2]: each for each in shards()}.values())


@pytest.mark.parametrize(
    ("name", "shard", "nodes"),
    tiers.short(shards(), SHORT, "the machine with most nodes leads through the same code"),
)
def test_unit_program(name: str, shard: str, nodes: str) -> None:
    program = locate.program("unit", EACH_LOCK if SOURCES[name] else name)
    only = f"Each/{suite_of(name)}.*/{shard}" if SOURCES[name] else "*"
    env = {key: value for key, value in os.environ.items() if not key.startswith("LOCKWRIGHT_")}
    env["LOCKWRIGHT_TOPOLOGY"] = nodes
    env["LOCKWRIGHT_TEST_NODES"] = str(harness.NODES[nodes])
    outcome = harness.run([program, f"--gtest_filter={only}", "--gtest_brief=1"], env).succeeded()
    passed = re.search(r"\[  PASSED  \] (\d+) test", outcome.stdout)
    assert passed is not None, outcome.describe()
    assert int(passed.group(1)) > 0, outcome.describe()


#: With this the kernel places mappings upwards, as under `ulimit -s unlimited`.
UPWARDS = ["setarch", "-L"]


@pytest.mark.skipif(
    subprocess.run([*UPWARDS, "true"], capture_output=True, check=False).returncode != 0,
    reason="setarch cannot choose where mappings are placed",
)
def test_pool_where_mappings_go_upwards() -> None:
    words = [*UPWARDS, str(locate.program("unit", "pool_test")), "--gtest_filter=Cutter.*"]
    outcome = harness.run(words, os.environ).succeeded()
    assert "[  PASSED  ] 2 tests" in outcome.stdout, outcome.describe()


@pytest.mark.parametrize("name", [name for name, by_row in SOURCES.items() if by_row])
def test_no_suite_is_left_out(name: str) -> None:
    text = (locate.TESTS / f"unit/{name}.cpp").read_text()
    suites = re.findall(r"^(?:TYPED_)?TEST(?:_F|_P|_SUITE)?\((\w+)", text, re.MULTILINE)
    assert set(suites) == {suite_of(name)}
