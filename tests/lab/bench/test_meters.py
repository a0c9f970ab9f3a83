"""The C++ tests of the meters of lockwright-bench."""

import os
import re

from support import harness, locate


def test_meters() -> None:
    program = locate.program("lab/bench", "meters_test")
    outcome = harness.run([program, "--gtest_brief=1"], dict(os.environ), 120)
    assert outcome.status == 0, outcome.describe()
    passed = re.search(r"\[  PASSED  \] (\d+) tests", outcome.stdout)
    assert passed is not None, outcome.describe()
    source = "".join(path.read_text() for path in (locate.TESTS / "lab/bench").glob("*_test.cpp"))
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", outcome.stdout)
    skipped_tests = int(skipped.group(1)) if skipped else 0
    assert int(passed.group(1)) + skipped_tests == len(re.findall(r"^TEST\(", source, re.MULTILINE))
