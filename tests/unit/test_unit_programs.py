"""The C++ tests of the algorithms, used directly without any preload library, pass."""

from __future__ import annotations

import os
import re

import pytest
from support import harness, locate

ROWS = [identifier for _, identifier in locate.registry_rows()]

#: Program, and whether its tests are named after the rows of the registry.
PROGRAMS = {
    "locks": True,
    "lifetime": True,
    "handover": True,
    "hierarchy": True,
    "properties": True,
    "gcr": False,
    "topology": False,
    "pool": False,
    "alock": False,
}

SHARDS = [
    (name, f"*/{shard}.*" if by_row else "*")
    for name, by_row in PROGRAMS.items()
    for shard in (ROWS if by_row else ["all"])
]
#: What is named after no row although the others of its program are.
SHARDS.append(("properties", "TheMeasures.*"))


@pytest.mark.parametrize(("name", "only"), SHARDS)
def test_unit_program(name: str, only: str) -> None:
    program = locate.program("unit", f"{name}_test")
    env = {key: value for key, value in os.environ.items() if not key.startswith("LOCKWRIGHT_")}
    outcome = harness.run([program, f"--gtest_filter={only}", "--gtest_brief=1"], env, 60)
    assert outcome.status == 0, outcome.describe()
    passed = re.search(r"\[  PASSED  \] (\d+) test", outcome.stdout)
    assert passed is not None, outcome.describe()
    assert int(passed.group(1)) > 0, outcome.describe()


def test_every_program_is_run() -> None:
    sources = {path.stem for path in (locate.TESTS / "unit").glob("*_test.cpp")}
    assert sources == {f"{name}_test" for name in PROGRAMS}
