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
CONTRACTS = {"lockwright": "layers", "lockwright_lab": "laboratory"}
"""The contract of each package."""


def contracts() -> dict[str, dict[str, list[str]]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {each["id"]: each for each in settings["contracts"]}


def layers(package: str) -> list[list[str]]:
    """Return the layers of the contract of a package, the highest first, without its modules."""
    lines = [line.split(" | ") for line in contracts()[CONTRACTS[package]]["layers"]]
    folder = PACKAGE.parent / package
    packages = [[name for name in line if (folder / name).is_dir()] for line in lines]
    return [sorted(line) for line in packages if line]


def table_rows(package: str) -> list[list[str]]:
    """Return the packages of each row of the table, in its order."""
    text = (ROOT / "docs" / "developing.md").read_text()
    _, _, below = text.partition(f"\n| of `python/{package}/` |")
    rows = [row for row in below.split("\n\n")[0].splitlines() if row.startswith("| `")]
    return [sorted(re.findall(r"`(\w+)/`", row.split(" | ")[0])) for row in rows]


@pytest.mark.parametrize("package", CONTRACTS)
def test_every_package_is_in_the_contract(package: str) -> None:
    found = {each.parent.name for each in (PACKAGE.parent / package).glob("*/__init__.py")}
    assert sorted(chain.from_iterable(layers(package))) == sorted(found)


@pytest.mark.parametrize("package", CONTRACTS)
def test_the_table_of_folders_is_the_contract(package: str) -> None:
    assert table_rows(package) == layers(package)


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
    for name in CONTRACTS:
        source = PACKAGE.parent / name
        shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    if module is not None:
        changed = package / module
        changed.write_text(f"{changed.read_text()}\n\ndef _late() -> None:\n    {line}\n")
    result = lint_imports(package)
    assert result.returncode == (0 if broken is None else 1), result.stdout + result.stderr
    if broken is not None:
        assert re.search(rf"{broken}.* BROKEN", result.stdout), result.stdout
