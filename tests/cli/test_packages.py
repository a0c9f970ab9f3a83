"""The table of folders, the import contract and the tree have the same Python packages."""

import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from support.processes import captured

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "lockwright"


def contracts() -> dict[str, dict[str, list[str]]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {each["id"]: each for each in settings["contracts"]}


def layers() -> list[list[str]]:
    """Return the layers of the contract, the highest first, without the modules of the root."""
    lines = [line.split(" | ") for line in contracts()["layers"]["layers"]]
    packages = [[name for name in line if (PACKAGE / name).is_dir()] for line in lines]
    return [sorted(line) for line in packages if line]


def table_rows() -> list[list[str]]:
    """Return the packages of each row of the table, in its order."""
    text = (ROOT / "docs" / "developing.md").read_text().partition("\n## Folders\n")[2]
    cells = re.findall(r"^\| (`python/lockwright/\w+/`[^|]*) \|", text, re.MULTILINE)
    return [sorted(re.findall(r"`(?:python/lockwright/)?(\w+)/`", cell)) for cell in cells]


def test_every_package_is_in_the_contract() -> None:
    found = {each.parent.name for each in PACKAGE.glob("*/__init__.py")}
    assert sorted(chain.from_iterable(layers())) == sorted(found)


def test_the_table_of_folders_is_the_contract() -> None:
    assert table_rows() == layers()


def test_no_import_is_ignored() -> None:
    for name, contract in contracts().items():
        assert "ignore_imports" not in contract, name


def lint_imports(package: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("lint-imports")
    settings = package.parent / "pyproject.toml"
    shutil.copy(ROOT / "pyproject.toml", settings)
    return captured(
        [command, "--no-cache", "--config", settings],
        cwd=package.parent,
        env={"PYTHONPATH": str(package.parent), "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        (None, "", None),
        ("base/errors.py", "import lockwright.preload.locks", "Packages import downwards"),
        ("profile/record.py", "import lockwright.doctor", "Packages import downwards"),
        ("plan/rules.py", "import lockwright.plan.compiled", "No circles"),
    ],
)
def test_an_import_upwards_is_found(
    tmp_path: Path, module: str | None, line: str, broken: str | None
) -> None:
    """An import inside a function is found too; the unchanged tree has none."""
    package = tmp_path / "lockwright"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    if module is not None:
        changed = package / module
        changed.write_text(f"{changed.read_text()}\n\ndef _late() -> None:\n    {line}\n")
    result = lint_imports(package)
    assert result.returncode == (0 if broken is None else 1), result.stdout + result.stderr
    if broken is not None:
        assert re.search(rf"{broken}.* BROKEN", result.stdout), result.stdout
