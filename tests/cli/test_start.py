"""The command heeds Ctrl-C from its first moments on."""

import os
import sys
from pathlib import Path

import lockwright
from support.processes import captured


def test_ctrl_c_while_it_is_read_leaves_no_traceback(tmp_path: Path) -> None:
    """A module that it needs stands in for the user's finger."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    package = Path(lockwright.__file__).parents[1]
    done = captured(
        [sys.executable, "-m", "lockwright", "list"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{package}"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_help_needs_none_of_what_reports_need() -> None:
    """They take longer to read than help takes to print."""
    script = (
        "import sys\nfrom lockwright import cli\nassert cli.main(['--help']) == 0\n"
        "print({'jinja2', 'numpy', 'pandas', 'plotly', 'scipy'} & set(sys.modules))"
    )
    done = captured([sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "set()"
