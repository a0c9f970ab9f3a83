"""The C++ tests of the algorithms, used directly without any preload library, pass."""

from __future__ import annotations

import os
import re

import pytest
from support import harness, locate

ROWS = [identifier for _, identifier in locate.registry_rows()]

#: Program, and whether its tests are compiled for, and named after, each row of the registry.
PROGRAMS = {
    path.stem: '#include "rows.hpp"' in path.read_text()
    for path in sorted((locate.TESTS / "unit").glob("*_test.cpp"))
}

SHARDS = [
    (name, shard) for name, by_row in PROGRAMS.items() for shard in (ROWS if by_row else ["all"])
]


@pytest.mark.parametrize(("name", "shard"), SHARDS)
def test_unit_program(name: str, shard: str) -> None:
    program = locate.program("unit", name)
    only = "*" if shard == "all" else f"*/{shard}.*"
    env = {key: value for key, value in os.environ.items() if not key.startswith("LOCKWRIGHT_")}
    outcome = harness.run([program, f"--gtest_filter={only}", "--gtest_brief=1"], env, 60)
    assert outcome.status == 0, outcome.describe()
    passed = re.search(r"\[  PASSED  \] (\d+) test", outcome.stdout)
    assert passed is not None, outcome.describe()
    assert int(passed.group(1)) > 0, outcome.describe()
