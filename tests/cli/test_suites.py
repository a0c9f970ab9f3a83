"""`scripts/suites.py` runs the tests of other projects without and with a library."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import locate
from support.processes import captured

SCRIPT = locate.ROOT / "scripts/suites.py"
#: The middle of the tests of a suite.
BODIES = {
    "same": "return 3;",
    "other": 'return getenv("LD_PRELOAD") != NULL;',
    "clock": "if (getpid() == 0) clock_settime(CLOCK_REALTIME, NULL); return 0;",
    "broken": "return undeclared;",
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite/src/functional"
    folder.mkdir(parents=True)
    includes = "".join(f"#include <{name}.h>\n" for name in ("pthread", "stdlib", "time", "unistd"))
    for name, body in BODIES.items():
        text = f"{includes}int main(void) {{ pthread_self(); {body} }}\n"
        (folder / f"{name}.c").write_text(text)
    (folder / "none.c").write_text("int main(void) { return 0; }\n")
    return tmp_path / "suite"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library that does nothing."""
    source, result = tmp_path / "nothing.c", tmp_path / "nothing.so"
    source.write_text("int nothing;\n")
    subprocess.run(["cc", "-shared", source, "-o", result], check=True)
    return result


def test_what_differs_is_named(suite: Path, library: Path, tmp_path: Path) -> None:
    """A test that would set the clock of the machine is not even compiled."""
    file = tmp_path / "results.json"
    words: list[str | Path] = [sys.executable, SCRIPT, "libc-test", suite]
    result = captured([*words, "--library", library, "--json", file])
    assert result.returncode == 1, result.stderr
    first, second = result.stdout.splitlines()
    assert first == "3 tests: 1 differs, 1 not built, 1 same; 1 pass without the library"
    assert second.startswith("differs: src/functional/other: exit status 0, exit status 0")
    runs = {each["test"].split("/")[-1]: each for each in json.loads(file.read_text())}
    assert sorted(runs) == ["broken", "other", "same"]
    assert runs["other"]["with_library"] == ["exit status 1"] * 4
    assert runs["same"]["with_library"] == ["exit status 3"]


def test_bad_arguments(suite: Path, library: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library\n")
    for folder, preloaded, problem in (
        (tmp_path / "nowhere", library, "no test of this suite"),
        (suite, text, "cannot preload"),
        (suite, tmp_path / "missing.so", "cannot preload"),
    ):
        words: list[str | Path] = [sys.executable, SCRIPT, "libc-test", folder]
        result = captured([*words, "--library", preloaded])
        assert result.returncode == 2
        assert len(result.stderr.splitlines()) == 1
        assert problem in result.stderr
