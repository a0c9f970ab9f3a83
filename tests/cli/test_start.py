"""The command heeds Ctrl-C from its first moments on."""

import os
import subprocess
import sys
from pathlib import Path

import lockwright


def test_ctrl_c_while_it_is_read_leaves_no_traceback(tmp_path: Path) -> None:
    """A module that it needs stands in for the user's finger."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    package = Path(lockwright.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "lockwright", "list"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{package}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
