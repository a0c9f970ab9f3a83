"""An option means the same in every command, and a shell can complete all of them."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from lockwright.cli import cli as root
from lockwright.commands.common import grammar
from lockwright_lab.commands.common import grammar as lab_grammar
from support import locate
from support.processes import captured

from .conftest import Cli


def commands(group: click.Command, *name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below a group with its words."""
    if not isinstance(group, click.Group):
        yield " ".join(name), group
        return
    context = click.Context(group)
    for each in group.list_commands(context):
        command = group.get_command(context, each)
        assert command is not None
        yield from commands(command, *name, each)


COMMANDS = dict(commands(root))
PTHREAD = [name for name in locate.lock_names() if name.startswith("pthr")]
SHARED = {**grammar.SHARED, **lab_grammar.SHARED}
SCREEN = 40


def form(option: click.Option) -> tuple[object, ...]:
    """Return what follows an option's name, and how often: all that a user has to know."""
    # click has a metavar for a choice without one.
    kind = click.types.ParamType if option.is_flag else type(option.type)
    flag = option.is_flag, option.count, bool(option.flag_value) if option.is_flag else None
    return option.opts, option.secondary_opts, kind, option.metavar, option.nargs, *flag


def uses() -> dict[str, dict[str, click.Option]]:
    """Return the options by their names and by their commands."""
    found: dict[str, dict[str, click.Option]] = {}
    for name, command in COMMANDS.items():
        for option in command.params:
            if isinstance(option, click.Option):
                found.setdefault(max(option.opts, key=len), {})[name] = option
    return found


USES = uses()


@pytest.mark.parametrize("name", sorted(USES))
def test_an_option_means_the_same_everywhere(name: str) -> None:
    """An option of two commands is declared once, and every use has the declared form."""
    declared = SHARED.get(name)
    assert declared is not None or len(USES[name]) == 1, [*USES[name]]
    if declared is None:
        return
    expected = grammar.as_parameter(declared.option(name, "text"))
    assert isinstance(expected, click.Option)
    for command, option in USES[name].items():
        assert form(option) == form(expected), command
        assert option.multiple == declared.multiple, command


def test_a_meaning_has_one_name() -> None:
    """No option has a name that the grammar gives up for another, or the help of another."""
    given_up = {word: name for name, each in SHARED.items() for word in each.not_as}
    assert not given_up.keys() & USES.keys()
    names: dict[str, str] = {}
    for name, options in USES.items():
        for option in options.values():
            assert names.setdefault(option.help or "", name) == name, option.help


def test_every_declaration_is_used() -> None:
    assert SHARED.keys() <= USES.keys()
    assert not grammar.SHARED.keys() & lab_grammar.SHARED.keys()


def test_the_page_has_the_options() -> None:
    """docs/options.md lists the shared options of the product, and no others."""
    page = (locate.ROOT / "docs" / "options.md").read_text()
    table = page.partition("\n## ")[0]
    assert set(re.findall(r"^\| .*?(--[a-z][a-z-]+)", table, re.MULTILINE)) == grammar.SHARED.keys()


def test_the_help_fits_on_a_screen(cli: Cli) -> None:
    """At 80 columns; `--help --all` has what was cut."""
    for words in ["", "bench", "study", "emit", *COMMANDS]:
        command: click.Command = root
        context = click.Context(root, info_name="lockwright", terminal_width=80)
        for word in words.split():
            assert isinstance(command, click.Group)
            found = command.get_command(context, word)
            assert found is not None
            command, context = found, click.Context(found, context, word, terminal_width=80)
        assert len(command.get_help(context).splitlines()) <= SCREEN, words
    whole = cli("compare", "--help", "--all")
    assert whole.status == 0
    assert "sh before each run" in whole.out
    assert len(whole.out.splitlines()) > SCREEN


def test_json_is_alone_on_standard_output(cli: Cli, tmp_path: Path) -> None:
    """With `-`, all other output goes to standard error."""
    result = cli("doctor", "--seconds", "0.1", "--json", "-")
    assert "findings" in json.loads(result.out)
    assert "ok" in result.err
    file = tmp_path / "locks.json"
    assert "mcs-stp" in cli("list", "--json", file).out or "futex" in file.read_text()
    assert json.loads(file.read_text()) == json.loads(cli("list", "--json", "-").out)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["com"], ["compare", "completion"]),
        (["compare", "--h"], ["--html", "--help"]),
        (["run", "--lock", "pthr"], PTHREAD),
        (["run", "--lock", "def"], ["default"]),
        (["compare", "--locks", "pthread,all"], ["pthread,all"]),
        (["compare", "--locks", f"all,{','.join(PTHREAD)},pthr"], []),
        (["bench", "lockb"], ["lockbench"]),
        (["bench", "unco"], ["uncontended", "uncontested"]),
        (["study", "catalogue", "--install", "xz,pig"], ["xz,pigz"]),
        (["info", "pthr"], PTHREAD),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_protocol(cli: Cli, shell: str, words: list[str], offered: list[str]) -> None:
    """The command offers what the scripts request, in the form that each shell reads."""
    line = ["lockwright", *words]
    position = words[-1] if shell == "fish" else str(len(words))
    request = {"COMP_WORDS": " ".join(line), "COMP_CWORD": position}
    result = cli(env={"_LOCKWRIGHT_COMPLETE": f"{shell}_complete", **request})
    assert result.status == 0, result.err
    if shell == "zsh":
        found = result.out.splitlines()[1::3]
    else:
        found = [each.partition(",")[2].split("\t")[0] for each in result.out.splitlines()]
    assert sorted(filter(None, found)) == sorted(offered)


def test_completion_in_bash(cli: Cli, command: list[str], tmp_path: Path) -> None:
    """The script works in bash."""
    (tmp_path / "plan.toml").touch()
    (tmp_path / "lockwright").symlink_to(command[0])
    script = tmp_path / "completion"
    script.write_text(cli("completion", "bash").out)
    calls = f"""
        . {script}
        complete -p lockwright >/dev/null || exit 1
        COMP_WORDS=(lockwright run --lock pthr) COMP_CWORD=3
        _lockwright_completion lockwright
        printf "%s\\n" "${{COMPREPLY[@]}}"
        COMP_WORDS=(lockwright run --plan pl) COMP_CWORD=3 COMPREPLY=()
        compopt() {{ echo "compopt $1 $2"; }}
        _lockwright_completion lockwright
    """
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = captured(["bash", "--norc", "-c", calls], env=environment)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [*PTHREAD, "compopt -o default"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lockwright run --lock pthr", PTHREAD[:1]),
        ("lockwright study catalogue pig", ["pigz"]),
    ],
)
def test_completion_typed_into_the_shell(
    cli: Cli, command: list[str], shell: str, line: str, expected: list[str], tmp_path: Path
) -> None:
    """Tab in the shell itself completes the names of locks and of programs."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; see tests/apps/more-packages.txt")
    (tmp_path / "lockwright").symlink_to(command[0])
    folder = tmp_path / "a folder"
    folder.mkdir()
    # zsh finds the function by the name of its file.
    script = folder / "_lockwright"
    script.write_text(cli("completion", shell).out)
    words: list[str | Path] = [sys.executable, locate.ROOT / "scripts/complete_in_shell.py"]
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = captured([*words, shell, line, expected[0], script], env=environment, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


def test_completion_imports_little(cli: Cli) -> None:
    """To name the subcommands, neither these nor the packages for tables are imported."""
    request = {"COMP_WORDS": "lockwright ", "COMP_CWORD": "1", "PYTHONPROFILEIMPORTTIME": "1"}
    result = cli(env={"_LOCKWRIGHT_COMPLETE": "bash_complete", **request})
    assert "plain,compare" in result.out
    for heavy in ("rich", "numpy", "lockwright.commands.compare", "lockwright.preload"):
        assert f" {heavy}\n" not in result.err, heavy
