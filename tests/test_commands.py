"""The modules of commands hold options, and leave what is done to the packages."""

import ast

import pytest
from support import locate

MOST_LINES = 40


@pytest.mark.parametrize("package", ["lockwright", "lockwright_lab"])
def test_functions_of_commands_are_short(package: str) -> None:
    files = list((locate.ROOT / "python" / package / "commands").rglob("*.py"))
    assert files
    long = [
        f"{path.name}: {node.name}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MOST_LINES
    ]
    assert long == []
