"""What the programs of the catalogue read: made here, the same on every machine.

Small, so that a run takes about a second: these runs ask whether a program ends as it should.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

Maker = Callable[[Path], None]


def administrators() -> dict[str, str]:
    """The environment with the folder in PATH where distributions put servers."""
    return {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}


def run_quietly(words: list[str]) -> None:
    """A program that only prepares something, and has to succeed."""
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _text(megabytes: int) -> Maker:
    """Bytes that compress about as text does."""

    def make(path: Path) -> None:
        generator = random.Random(7)
        block = bytes(generator.choices(range(32, 96), k=1_000_000))
        with path.open("wb") as out:
            for number in range(megabytes):
                cut = number * 7919 % len(block)
                out.write(block[cut:] + block[:cut])

    return make


def _video(width: int, height: int, frames: int) -> Maker:
    """Stripes that move over noise, as YUV4MPEG2 4:2:0."""

    def make(path: Path) -> None:
        noise = random.Random(11).randbytes(width)
        chroma = bytes([128]) * (width * height // 2)
        with path.open("wb") as out:
            out.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n" % (width, height))
            for frame in range(frames):
                luma = b"".join(
                    noise[(3 * frame + y) % width :] + noise[: (3 * frame + y) % width]
                    if (y // 16 + frame) % 3
                    else bytes([(y + frame) % 256]) * width
                    for y in range(height)
                )
                out.write(b"FRAME\n" + luma + chroma)

    return make


def _tree(path: Path) -> None:
    generator = random.Random(13)
    for number in range(300):
        folder = path / str(number % 20)
        folder.mkdir(parents=True, exist_ok=True)
        words = generator.choices(["lock", "wait", "queue", "wake", "park", "spin"], k=2000)
        (folder / str(number)).write_text(" ".join(words))


def _genome() -> str:
    return "".join(random.Random(17).choices("ACGT", k=100_000))


def _genome_index(path: Path) -> None:
    fasta = path.with_suffix(".fa")
    fasta.write_text(">genome\n" + _genome() + "\n")
    run_quietly(["bowtie2-build", "-q", str(fasta), str(path)])
    path.touch()


def _reads(count: int) -> list[tuple[int, str]]:
    genome = _genome()
    generator = random.Random(19)
    starts = [generator.randrange(len(genome) - 100) for _ in range(count)]
    return [(start, genome[start : start + 100]) for start in starts]


def _fastq(path: Path) -> None:
    path.write_text(
        "".join(f"@r{n}\n{read}\n+\n{'I' * 100}\n" for n, (_, read) in enumerate(_reads(8_000)))
    )


def _sam(path: Path) -> None:
    lines = [
        f"r{n}\t0\tgenome\t{start + 1}\t60\t100M\t*\t0\t0\t{read}\t{'I' * 100}\n"
        for n, (start, read) in enumerate(_reads(150_000))
    ]
    path.write_text("@SQ\tSN:genome\tLN:100000\n" + "".join(lines))


def _proteins(path: Path) -> None:
    generator = random.Random(23)
    letters = "ACDEFGHIKLMNPQRSTVWY"
    parent = generator.choices(letters, k=200)
    with path.open("w") as out:
        for number in range(60):
            child = [
                generator.choice(letters) if generator.random() < 0.3 else residue
                for residue in parent
            ]
            out.write(f">p{number}\n{''.join(child)}\n")


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


#: The name by which commands know it, and who makes it. What is outside `data` is a database.
INPUTS: dict[str, Maker] = {
    "data/c12.bin": _text(3),
    "data/c60.bin": _text(5),
    "data/c120.bin": _text(24),
    "data/v.y4m": _video(320, 176, 24),
    "data/hd.y4m": _video(640, 368, 16),
    "data/tree/perl": _tree,
    "data/repo/perl": _tree,
    "data/refbt": _genome_index,
    "data/r20k.fq": _fastq,
    "data/big.sam": _sam,
    "data/fam3.fa": _proteins,
    "/dev/shm/rdb3": _rocksdb(100_000),
    "/dev/shm/rdb": _rocksdb(200_000),
}


def make_inputs(folder: Path, command: str) -> None:
    """Those of INPUTS that the command reads and that are not there yet. They are made under
    another name, so that what is there is whole."""
    for name, maker in INPUTS.items():
        path = folder / name  # an absolute name stays what it is
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
