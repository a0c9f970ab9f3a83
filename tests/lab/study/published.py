"""The runs and tables of the published lock study; published_study/README.md says where they are
from."""

import csv
import lzma
from pathlib import Path

_FOLDER = Path(__file__).with_name("published_study")
TABLES = _FOLDER / "tables"


def unpack_runs(folder: Path) -> None:
    """Writes the CSV files of the runs into `folder`."""
    for packed in _FOLDER.glob("*.csv.xz"):
        (folder / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))


def lines(name: str) -> list[list[str]]:
    """Heading and lines of a published table."""
    with (TABLES / name).open(newline="") as file:
        return list(csv.reader(file))
