"""pprof's format: profile.proto of github.com/google/pprof, compressed by gzip.

The numbers of the fields are those of profile.proto.
"""

import contextlib
import gzip
from datetime import datetime

from lockwright.export.labels import line_of
from lockwright.export.wire import message, repeated
from lockwright.profile.frames import Frame
from lockwright.profile.record import Profile

_KINDS = (
    ("contentions", "count"),
    ("delay", "nanoseconds"),
    ("acquisitions", "count"),
    ("held", "nanoseconds"),
)
"""The kinds of values; the first two are those of Go's mutex profiles."""

_APART = 1 << 40
"""Distance between the address ranges of two files in bytes."""


def pprof_bytes(profile: Profile) -> bytes:
    """Return a sample for each stack, with a label for its mutex; the default is time waited."""
    table = _Table()
    kinds = [message((1, table.text(kind)), (2, table.text(unit))) for kind, unit in _KINDS]
    key = table.text("mutex")
    samples = []
    for mutex in profile.mutexes:
        label = message((1, key), (2, table.text(mutex.name)))
        for site in mutex.sites:
            locations = [table.location(frame) for frame in site.stack]
            figures = (site.contended, site.waited, site.acquisitions, site.held)
            samples.append(message((1, locations), (2, list(map(round, figures))), (3, label)))
    comment = table.text("lockwright: time that threads waited for mutexes")
    document = (
        repeated(1, kinds)
        + repeated(2, samples)
        + repeated(3, table.mappings())
        + repeated(4, table.locations)
        + repeated(5, table.functions)
        + message(
            (9, _began(profile.started)),
            (10, round(profile.process.duration)),
            (11, kinds[0]),
            (12, 1),
            (13, [comment]),
            (14, table.text("delay")),
        )
        # The last, because all others add texts to it.
        + repeated(6, table.texts)
    )
    return gzip.compress(document, mtime=0)


def _began(started: str) -> int:
    """Return the nanoseconds since 1970, or 0."""
    with contextlib.suppress(ValueError):
        return round(datetime.fromisoformat(started).timestamp() * 1e9)
    return 0


class _Table:
    """Texts, functions, locations and files, each once; all but texts are numbered from 1."""

    def __init__(self) -> None:
        self.locations: list[bytes] = []
        self.functions: list[bytes] = []
        self._texts = {"": 0}
        self._locations: dict[Frame, int] = {}
        self._functions: dict[tuple[str, str], int] = {}
        self._modules: dict[str, int] = {}
        self._ends: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self._texts)

    def text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def location(self, frame: Frame) -> int:
        if frame not in self._locations:
            number = self._locations[frame] = len(self._locations) + 1
            file, line = line_of(frame.source)
            source = message((1, self._function(frame.symbol or frame.label, file)), (2, line))
            module = self._module(frame)
            address = module * _APART + frame.offset
            self.locations.append(message((1, number), (2, module), (3, address), (4, source)))
        return self._locations[frame]

    def _function(self, name: str, file: str) -> int:
        key = (name, file)
        if key not in self._functions:
            number = self._functions[key] = len(self._functions) + 1
            text_number = self.text(name)
            self.functions.append(
                message((1, number), (2, text_number), (3, text_number), (4, self.text(file)))
            )
        return self._functions[key]

    def _module(self, frame: Frame) -> int:
        number = self._modules.setdefault(frame.module, len(self._modules) + 1)
        self._ends[frame.module] = max(self._ends.get(frame.module, 0), frame.offset + 1)
        return number

    def mappings(self) -> list[bytes]:
        """Return the loaded files, marked as resolved so that pprof does not look up functions."""
        return [
            message(
                (1, number),
                (2, number * _APART),
                (3, number * _APART + self._ends[module]),
                (5, self.text(module)),
                *((known, 1) for known in (7, 8, 9)),
            )
            for module, number in self._modules.items()
        ]
