"""The names of call sites in running processes, found once for each process and address."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from lockwright.metrics.segment import Segment
from lockwright.profile.mutex_lines import taken_at
from lockwright.profile.outside.memory import mappings_of
from lockwright.profile.symbols import Symbols

OTHER = "other"
"""The label of the sites that found no room in the segment."""


class CallSites:
    """The names of the call sites of all examined processes, by pid and start."""

    def __init__(self) -> None:
        """Start without any name."""
        self._names: dict[tuple[int, int], dict[int, str]] = {}

    def names(self, segment: Segment) -> dict[int, str]:
        """Return the name of each caller: its function, or file and offset."""
        known = self._names.setdefault((segment.pid, segment.started), {0: OTHER})
        if any(site.caller not in known for site in segment.sites):
            symbols = _symbols(segment)
            for site in segment.sites:
                if symbols is not None and symbols.mapping(site.caller) is not None:
                    known[site.caller] = _name(symbols, site.caller)
        return {site.caller: known.get(site.caller, hex(site.caller)) for site in segment.sites}

    def forget_others(self, segments: Iterable[Segment]) -> None:
        """Forget the processes that are not among these."""
        present = {(segment.pid, segment.started) for segment in segments}
        for key in self._names.keys() - present:
            del self._names[key]


def _name(symbols: Symbols, caller: int) -> str:
    """Return the function of a call site as a profile names it."""
    site = taken_at(symbols, caller)
    return replace(site, stack=tuple(replace(frame, source="") for frame in site.stack)).label


def _symbols(segment: Segment) -> Symbols | None:
    """Return the symbols of a process; None if it has ended."""
    process = Path(f"/proc/{segment.pid}")
    try:
        # A process in a container has other files at the same paths.
        same_files = (process / "root").samefile("/")
        root = "" if same_files else str(process / "root")
        mappings = [mapping for mapping, is_code in mappings_of(process, root) if is_code]
        return Symbols(mappings, segment.program)
    except OSError:
        return None
