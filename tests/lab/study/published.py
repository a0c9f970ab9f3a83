"""The runs and tables of the published lock study; published_study/README.md says where they are
from."""

import csv
import lzma
import re
from pathlib import Path

_FOLDER = Path(__file__).with_name("published_study")
TABLES = _FOLDER / "tables"


def unpack_runs(folder: Path) -> None:
    """Writes the CSV files of the runs into `folder`. A packed `/x` is 1/x, the speed of a run of
    x seconds: the times have few digits."""
    for packed in _FOLDER.glob("*.csv.xz"):
        text = lzma.decompress(packed.read_bytes()).decode()
        speeds = re.sub("/([0-9.e+-]+)", lambda time: f"{1 / float(time[1]):.15g}", text)
        (folder / packed.stem).write_text(speeds)


def lines(name: str) -> list[list[str]]:
    """Heading and lines of a published table."""
    with (TABLES / name).open(newline="") as file:
        return list(csv.reader(file))
