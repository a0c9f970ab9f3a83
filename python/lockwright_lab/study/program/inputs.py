"""The inputs of programs: generated, the same on every machine, and stored for the next run."""

import hashlib
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.base.user_folders import user_folder


@dataclass(frozen=True)
class Kind:
    """A kind of input. make: a function of a path and the numbers; defaults: of these, by name."""

    make: Callable[..., None]
    defaults: Mapping[str, int]


def text(path: Path, megabytes: int) -> None:
    """Write bytes that compress about like text."""
    generator = random.Random(7)
    block = bytes(generator.choices(range(32, 96), k=1_000_000))
    with path.open("wb") as out:
        for number in range(megabytes):
            cut = number * 7919 % len(block)
            out.write(block[cut:] + block[:cut])


def noise(path: Path, megabytes: int) -> None:
    """Write bytes that do not compress."""
    generator = random.Random(29)
    with path.open("wb") as out:
        for _ in range(megabytes):
            out.write(generator.randbytes(1_000_000))


def lines(path: Path, count: int) -> None:
    """Write unordered lines of ten letters."""
    generator = random.Random(31)
    with path.open("w") as out:
        for _ in range(count):
            out.write(f"{generator.getrandbits(50):010x}"[:10] + "\n")


def video(path: Path, width: int, height: int, frames: int) -> None:
    """Write a video of stripes that move over noise, as YUV4MPEG2 4:2:0."""
    grain = random.Random(11).randbytes(width)
    chroma = bytes([128]) * (width * height // 2)
    with path.open("wb") as out:
        out.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n" % (width, height))
        for frame in range(frames):
            luma = b"".join(
                grain[(3 * frame + y) % width :] + grain[: (3 * frame + y) % width]
                if (y // 16 + frame) % 3
                else bytes([(y + frame) % 256]) * width
                for y in range(height)
            )
            out.write(b"FRAME\n" + luma + chroma)


def tree(path: Path, files: int) -> None:
    """Write files of words into twenty directories."""
    generator = random.Random(13)
    for number in range(files):
        folder = path / str(number % 20)
        folder.mkdir(parents=True, exist_ok=True)
        words = generator.choices(["lock", "wait", "queue", "wake", "park", "spin"], k=2000)
        (folder / str(number)).write_text(" ".join(words))


def _letters(count: int) -> str:
    return "".join(random.Random(17).choices("ACGT", k=count))


def fasta(path: Path, letters: int) -> None:
    """Write a random genome, as FASTA."""
    path.write_text(">genome\n" + _letters(letters) + "\n")


def _reads(count: int, letters: int) -> list[tuple[int, str]]:
    genome = _letters(letters)
    generator = random.Random(19)
    starts = [generator.randrange(len(genome) - 100) for _ in range(count)]
    return [(start, genome[start : start + 100]) for start in starts]


def fastq(path: Path, reads: int, letters: int) -> None:
    """Write reads of the genome of `letters` letters, as FASTQ."""
    path.write_text(
        "".join(
            f"@r{n}\n{read}\n+\n{'I' * 100}\n" for n, (_, read) in enumerate(_reads(reads, letters))
        )
    )


def sam(path: Path, reads: int, letters: int) -> None:
    """Write reads of that genome with their positions, as SAM."""
    rows = [
        f"r{n}\t0\tgenome\t{start + 1}\t60\t100M\t*\t0\t0\t{read}\t{'I' * 100}\n"
        for n, (start, read) in enumerate(_reads(reads, letters))
    ]
    path.write_text(f"@SQ\tSN:genome\tLN:{letters}\n" + "".join(rows))


def proteins(path: Path, count: int) -> None:
    """Write mutations of one protein, as FASTA."""
    generator = random.Random(23)
    alphabet = "ACDEFGHIKLMNPQRSTVWY"
    parent = generator.choices(alphabet, k=200)
    with path.open("w") as out:
        for number in range(count):
            child = [
                generator.choice(alphabet) if generator.random() < 0.3 else residue
                for residue in parent
            ]
            out.write(f">p{number}\n{''.join(child)}\n")


KINDS: Mapping[str, Kind] = {
    "text": Kind(text, {"megabytes": 10}),
    "noise": Kind(noise, {"megabytes": 10}),
    "lines": Kind(lines, {"count": 1_000_000}),
    "video": Kind(video, {"width": 320, "height": 176, "frames": 24}),
    "tree": Kind(tree, {"files": 300}),
    "genome": Kind(fasta, {"letters": 100_000}),
    "fastq": Kind(fastq, {"reads": 8_000, "letters": 100_000}),
    "sam": Kind(sam, {"reads": 150_000, "letters": 100_000}),
    "proteins": Kind(proteins, {"count": 60}),
}


@dataclass(frozen=True)
class ResolvedInput:
    """An input with its final numbers. command: words to run instead of a kind."""

    name: str
    kind: str
    numbers: Mapping[str, int]
    command: Sequence[str]


def make(
    wanted: Sequence[ResolvedInput], cache: Path, run: Callable[[Sequence[str], Path], None]
) -> Path:
    """Make the inputs if they are missing, all or none; return their directory, which is {data}.
    run: runs a command in a directory, which is {data} in its words; it raises LockwrightError if
    the command fails."""
    # Other inputs or numbers have another directory.
    key = json.dumps([asdict(input_) for input_ in wanted], sort_keys=True)
    folder = cache / "inputs" / hashlib.sha256(key.encode()).hexdigest()[:16]
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise LockwrightError(
            f"cannot make inputs in {folder.parent}: {error.strerror}", "choose another --cache"
        ) from error
    try:
        for input_ in wanted:
            if input_.kind:
                KINDS[input_.kind].make(unfinished / input_.name, **input_.numbers)
            else:
                run(input_.command, unfinished)
            if not any(unfinished.glob(f"{input_.name}*")):
                raise LockwrightError(
                    f"the command of the input {input_.name} has made no file of that name",
                    "let it write to {data}/" + input_.name,
                )
        unfinished.chmod(0o755)
        try:
            unfinished.rename(folder)
        except OSError:
            # Another study made the same inputs meanwhile.
            if not folder.is_dir():
                raise
    except OSError as error:
        raise LockwrightError(
            f"cannot make inputs in {unfinished}: {error.strerror}", "make room, or choose --cache"
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def default_cache() -> Path:
    """Return the default directory of inputs."""
    return user_folder("XDG_CACHE_HOME", "inputs", "name a directory with --cache")
