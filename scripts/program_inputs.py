"""What the programs of the catalogue read: made here, the same on every machine.

Small, so that a run takes about a second: these runs ask whether a program ends as it should.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from lockwright.study.program import inputs

Maker = Callable[[Path], None]
LETTERS = 100_000


def administrators() -> dict[str, str]:
    """The environment with the folder in PATH where distributions put servers."""
    return {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}


class CannotPrepare(Exception):
    """What a program needs cannot be made here; the argument says why, in one line."""


def run_quietly(words: list[str]) -> None:
    """A program that only prepares something. Raises CannotPrepare if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise CannotPrepare(f"{words[0]} fails: {_last(done.stdout + done.stderr)}")


def last_lines(path: Path) -> str:
    """Of what a program printed into a file, in one line."""
    return _last(path.read_text(errors="replace")) if path.exists() else ""


def _last(text: str) -> str:
    return " | ".join(line.strip() for line in text.splitlines()[-5:] if line.strip())


def _of(kind: Callable[..., None], **numbers: int) -> Maker:
    return lambda path: kind(path, **numbers)


def _genome_index(path: Path) -> None:
    fasta = path.with_suffix(".fa")
    inputs.genome(fasta, LETTERS)
    run_quietly(["bowtie2-build", "-q", str(fasta), str(path)])
    path.touch()


def _rocksdb(keys: int) -> Maker:
    def make(path: Path) -> None:
        run_quietly(
            [
                "db_bench",
                "--benchmarks=fillseq",
                f"--db={path}",
                f"--num={keys}",
                "--compression_type=none",
            ]
        )

    return make


#: The name by which commands know it, and who makes it.
INPUTS: dict[str, Maker] = {
    "data/c12.bin": _of(inputs.text, megabytes=3),
    "data/c60.bin": _of(inputs.text, megabytes=5),
    "data/c120.bin": _of(inputs.text, megabytes=24),
    "data/v.y4m": _of(inputs.video, width=320, height=176, frames=24),
    "data/hd.y4m": _of(inputs.video, width=640, height=368, frames=16),
    "data/tree/perl": _of(inputs.tree, files=300),
    "data/repo/perl": _of(inputs.tree, files=300),
    "data/refbt": _genome_index,
    "data/r20k.fq": _of(inputs.fastq, reads=8_000, letters=LETTERS),
    "data/big.sam": _of(inputs.sam, reads=150_000, letters=LETTERS),
    "data/fam3.fa": _of(inputs.proteins, count=60),
    "files/rdb3": _rocksdb(100_000),
    "files/rdb": _rocksdb(200_000),
}


def make_inputs(folder: Path, command: str) -> None:
    """Those of INPUTS that the command reads and that are not there yet. They are made under
    another name, so that what is there is whole."""
    for name, maker in INPUTS.items():
        path = folder / name
        if not re.search(rf"{re.escape(name)}(?![\w.-])", command) or path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "data/refbt":  # a prefix of names; its own file comes last
            maker(path)
            continue
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        if fresh.is_dir():
            shutil.rmtree(fresh)
        maker(fresh)
        fresh.rename(path)
