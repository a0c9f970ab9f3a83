"""Programs that take mutexes and cannot report it differ from those that take none."""

import pytest
from support.processes import captured

from .conftest import Cli, Program

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]
COMMANDS = {"profile": ["profile"], "stats": ["run", "--lock", "ttas", "--stats"]}
HIDE = "mount -t tmpfs none /dev/shm"


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("ending", ["exec WORKER", "WORKER; :"], ids=["itself", "a child"])
def test_a_sandbox_that_hides_the_file(
    cli: Cli, program: Program, words: list[str], ending: str
) -> None:
    if captured([*UNSHARE, "sh", "-c", HIDE]).returncode != 0:
        pytest.skip("user namespaces are not available")
    script = f"{HIDE}; " + ending.replace("WORKER", f"{program('worker')} 2 500 400")
    result = cli(*words, "--", *UNSHARE, "sh", "-c", script)
    assert result.status == 0
    assert "sum: 1000\n" in result.out
    assert "'worker', which it ran with the library, could not open the file" in result.err
    assert "--bind /dev/shm /dev/shm" in result.err
    assert "no lock can change" not in result.err


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_child_that_does_not_load_the_library(
    cli: Cli, program: Program, words: list[str]
) -> None:
    script = f"env -u LD_PRELOAD {program('worker')} 2 500 400; :"
    result = cli(*words, "--", "sh", "-c", script)
    assert result.status == 0
    assert "'worker', which it ran, did not load the library" in result.err
    assert "keeps LD_PRELOAD" in result.err
    assert "no lock can change" not in result.err
    assert "the program took no mutex" not in result.err
