"""Write the man pages and the completion scripts, both made from the command's own help.

The arguments are a folder, which gets the layout of /usr/share, and the package. The date of the
pages is SOURCE_DATE_EPOCH, or today.
"""

import inspect
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
from lockwright import version
from lockwright.cli import all_commands, cli, package_of
from lockwright.commands.completion import SHELLS, script

SCRIPTS = {
    "bash": "bash-completion/completions/lockwright",
    "zsh": "zsh/site-functions/_lockwright",
    "fish": "fish/vendor_completions.d/lockwright.fish",
}
"""Where each shell looks for the script of a command, below /usr/share."""

_ESCAPES = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    '"': r"\(dq",
}


def escaped(text: str) -> str:
    """Return text as ASCII in which roff finds no requests and no escapes."""
    characters = (_ESCAPES.get(c, c if c.isascii() else f"\\[u{ord(c):04X}]") for c in text)
    return re.sub(r"^\.", r"\\&.", "".join(characters), flags=re.MULTILINE)


def paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of each paragraph of a help text; those after `\\b` are not filled."""
    for index, paragraph in enumerate(re.split(r"\n{2,}", inspect.cleandoc(text))):
        unfilled = paragraph.startswith("\b\n")
        body = escaped(paragraph.removeprefix("\b\n"))
        yield (".PP\n" if index else "") + (f".nf\n{body}\n.fi\n" if unfilled else f"{body}\n")


def items(pairs: list[tuple[str, str]]) -> str:
    """Return a list of terms, which are roff already, and their descriptions."""
    return "".join(f".TP\n{term}\n{escaped(' '.join(text.split()))}\n" for term, text in pairs)


def reference(path: str) -> str:
    """Return the reference to the page of a command, such as `lockwright study run`."""
    return f".BR {escaped(path.replace(' ', '-'))} (1)"


def summary(context: click.Context) -> str:
    """Return the description of a command in one line, without a full stop."""
    if context.parent is not None and context.parent.command is cli:
        text = all_commands()[context.info_name or ""]
    else:
        text = " ".join(inspect.cleandoc(context.command.help or "").split("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".")


def date() -> str:
    """Return the date of the pages in UTC."""
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def page(context: click.Context, below: list[click.Context]) -> str:
    """Return the page of a command, whose subcommands are `below`, as roff."""
    command, path = context.command, context.command_path
    title = path.replace(" ", "-")
    usage = escaped(" ".join(command.collect_usage_pieces(context)))
    about = f'1 "{date()}" "Lockwright {version()}" "Lockwright"'
    parts = [
        f'.TH "{escaped(title.upper())}" {about}\n',
        f".SH NAME\n{escaped(title)} \\- {escaped(summary(context))}\n",
        f".SH SYNOPSIS\n.B {escaped(path)}\n{usage}\n",
        f".SH DESCRIPTION\n{''.join(paragraphs(command.help or ''))}",
    ]
    if below:
        pairs = [(reference(each.command_path), summary(each)) for each in below]
        parts.append(f".SH COMMANDS\n{items(pairs)}")
    records = [option.get_help_record(context) for option in command.params]
    pairs = [(f".B {escaped(term)}", text) for term, text in filter(None, records) if text]
    if pairs:
        parts.append(f".SH OPTIONS\n{items(pairs)}")
    if context.parent is not None:
        parts.append(f".SH SEE ALSO\n{reference(context.parent.command_path)}\n")
    return "".join(parts)


def contexts(command: click.Command, context: click.Context) -> list[click.Context]:
    """Return a context for each subcommand of a command."""
    if not isinstance(command, click.Group):
        return []
    found = []
    for name in command.list_commands(context):
        each = command.get_command(context, name)
        assert each is not None
        found.append(each.make_context(name, [], parent=context, resilient_parsing=True))
    return found


def pages(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of the page of a command, and of all commands below it."""
    below = contexts(context.command, context)
    yield context.command_path.replace(" ", "-"), page(context, below)
    for each in below:
        yield from pages(each)


def write(folder: Path, package: str) -> None:
    """Write all files of a package below `folder`. package: lockwright, or one that adds commands;
    the page of `lockwright` and the scripts belong to the first."""
    root = cli.make_context("lockwright", [], resilient_parsing=True)
    own = [each for each in contexts(cli, root) if package_of(each.info_name or "") == package]
    texts = {f"man/man1/{name}.1": text for each in own for name, text in pages(each)}
    if package == "lockwright":
        texts["man/man1/lockwright.1"] = page(root, own)
        texts |= {SCRIPTS[shell]: script(cli, shell) for shell in SHELLS}
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
