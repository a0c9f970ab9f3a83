"""`lockwright bench predict`: what it refuses."""

from pathlib import Path

from .conftest import Cli

NO_RUNS = ("bench", "predict", "--parts", "profiles", "--minutes", "0.001")


def test_bad_input_is_refused(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    cli(*NO_RUNS, "--programs", "pigs", "-o", folder).refuses("'pigs'", "pigz")
    cli("bench", "predict", "--parts", "run", "-o", folder).refuses("'run'", "runs")
    cli(*NO_RUNS, "--threads", "0", "-o", folder).refuses("--threads")
    cli(*NO_RUNS, "--locks", "mcss", "-o", folder).refuses("no lock is named 'mcss'")
    assert not folder.exists()
