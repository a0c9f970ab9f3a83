"""The options of several commands of the laboratory, beside those of the product's table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from lockwright.commands.common.grammar import FILE, Decorator, FiniteRange, Shared, with_default

SHARED: Mapping[str, Shared] = {
    "--admissions": Shared(None),
    "--better": Shared("higher|lower", click.Choice(["higher", "lower"])),
    "--bottlenecks": Shared(
        "DIR", click.Path(path_type=Path, file_okay=False), not_as=("--built",)
    ),
    "--cache": Shared("DIR", FILE),
    "--calls": Shared(None),
    "--cases": Shared("A,B,..."),
    "--columns": Shared("A,B,..."),
    "--latency": Shared(None),
    "--list": Shared(None),
    "--machine-name": Shared("NAME"),
    "--most-runs": Shared("N", click.IntRange(min=2)),
    "--output-dir": Shared("DIR", FILE, not_as=("--folder", "--out-dir")),
    "--parts": Shared("A,B,..."),
    "--placement": Shared("MODE", click.Choice([])),
    "--preset": Shared("NAME", click.Choice([])),
    "--programs": Shared("A,B,..."),
    "--rate": Shared("N", FiniteRange()),
    "--relative-to": Shared("LOCK"),
    "--seeds": Shared("N", click.IntRange(1, 1000)),
    "--set": Shared("NAME=VALUE", multiple=True),
    "--settings": Shared("A,B,..."),
    "--threads-per-core": Shared("N,..."),
    "--tls-ca": Shared("FILE", FILE),
    "--tls-cert": Shared("FILE", FILE),
    "--tls-key": Shared("FILE", FILE),
    "--tolerance": Shared("P%|ci"),
    "--type": Shared("NAME"),
    "--warm-up": Shared("S", FiniteRange(min=0), not_as=("--warmup", "--warm")),
    "--window": Shared("N", FiniteRange()),
    "--work": Shared("DIR", FILE),
}
"""The options by their names."""


def shared(name: str, text: str, *variable: str, **more: Any) -> Decorator:
    """Return an option of the table. text: its help; variable: the argument of the command, by
    default the name's; more: of click.option."""
    return SHARED[name].option(name, text, *variable, **more)


def output_to_folder(content: str, *, default: str = "", **more: Any) -> Decorator:
    """Return `--output-dir DIR` for results that are a directory."""
    text = f"Write {content} into the directory DIR."
    return shared("--output-dir", with_default(text, default), "output", **more)


built_tests = shared(
    "--bottlenecks",
    "Folder with the built programs of tests/bottlenecks and tests/speedup.",
    default=Path("build/debug/tests"),
    show_default=True,
)
"""Decorator that adds the option for the folder of the tests' programs."""


def warm_up(default: float) -> Decorator:
    """Return `--warm-up S`, the time before the measurement."""
    text = "Run for S seconds before the measurement."
    return shared("--warm-up", text, default=default, show_default=True)


class_template = shared(
    "--type",
    "Class template in the header, as NAME or NAME<Env, ...>.  [default: the file's name]",
    "type_",
)
"""Decorator that adds the option for the class of a header."""
