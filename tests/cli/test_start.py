"""The start of the command."""

import os
import sys
from pathlib import Path

import lockwright
from support.processes import captured


def test_ctrl_c_during_imports_leaves_no_traceback(tmp_path: Path) -> None:
    """A module that it imports raises KeyboardInterrupt."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    package = Path(lockwright.__file__).parents[1]
    result = captured(
        [sys.executable, "-m", "lockwright", "list"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{package}"},
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_help_imports_no_packages_for_reports() -> None:
    """Their import takes longer than the output of the help."""
    script = (
        "import sys\nfrom lockwright import cli\nassert cli.main(['--help']) == 0\n"
        "print({'jinja2', 'numpy', 'pandas', 'plotly', 'scipy'} & set(sys.modules))"
    )
    result = captured([sys.executable, "-c", script])
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "set()"


def test_run_imports_no_decoder_of_documents() -> None:
    """Without a plan and a calibration; the import would take as long as the rest of the start."""
    script = (
        "import sys\nfrom lockwright import cli\n"
        "def hook(event, arguments):\n"
        "    if event == 'os.exec':\n"
        "        print({'msgspec', 'numpy', 'rich'} & set(sys.modules), flush=True)\n"
        "sys.addaudithook(hook)\n"
        "cli.main(['run', '--lock', 'pthread', '--', 'true'])"
    )
    environment = os.environ | {"LOCKWRIGHT_CALIBRATION": "none"}
    result = captured([sys.executable, "-c", script], env=environment)
    assert (result.returncode, result.stdout, result.stderr) == (0, "set()\n", "")
