"""`lockwright bench predict`: what it refuses, and that it resumes."""

import json
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


def test_another_validation_is_not_mixed_in(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    folder.mkdir()
    settings = {"schema": 1, "seconds": 2.0, "timeout": 1.0}
    (folder / "runs.jsonl").write_text(json.dumps(settings) + "\n")
    cli(*NO_RUNS, "-o", folder).refuses("seconds 2.0, not 0.25")
    (folder / "runs.jsonl").write_text("x\n")
    cli(*NO_RUNS, "-o", folder).refuses("no validation of predictions in", "with another -o")
