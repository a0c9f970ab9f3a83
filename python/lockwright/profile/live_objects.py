"""What threads waited for besides mutexes over the last interval, as far as it is sampled."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lockwright.profile import sampled_waits
from lockwright.profile.outside.process import SampledProcess
from lockwright.profile.symbols import Symbols
from lockwright.profile.waiting import WaitObject


@dataclass(frozen=True)
class ObjectRow:
    """An object other than a lock during the last interval. about: it, since the program began;
    waited: ns per second, summed over threads; waiting: number of threads now; rate: ended waits
    per second, of a sampled object those that samples found."""

    about: WaitObject
    waited: float
    waiting: int
    rate: float


class SampledObjects:
    """The difference between successive states of processes that are sampled from outside."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, int], tuple[int, int]] = {}
        self._symbols: dict[tuple[int, int], Symbols] = {}

    def rows(
        self, processes: Iterable[SampledProcess], seconds: float, without: Collection[int] = ()
    ) -> list[ObjectRow]:
        """Return the objects that threads waited for in the last interval. seconds: its length;
        without: as in sampled_waits.waits_of()."""
        rows = []
        for process in processes:
            present = set(process.present.values())
            now = Counter(
                thread.sleep[0]
                for tid, thread in process.threads.items()
                if tid in present and thread.sleep is not None
            )
            changes: dict[int, tuple[int, int]] = {}
            for address, word in process.words.items():
                sites = word.sites.values()
                sums = sum(site.waited for site in sites), sum(site.sleeps for site in sites)
                before = self._before.get((process.pid, address), (0, 0))
                self._before[process.pid, address] = sums
                if now[address] or sums > before:
                    changes[address] = sums[0] - before[0], sums[1] - before[1]
            if not changes:
                continue
            for each in sampled_waits.waits_of(
                process, self._symbols_of(process), without, only=changes
            ):
                if each.is_listed:
                    address = each.object.address
                    waited, waits = (change / seconds for change in changes[address])
                    rows.append(ObjectRow(each.object, waited, now[address], waits))
        return rows

    def _symbols_of(self, process: SampledProcess) -> Symbols:
        key = process.pid, len(process.memory.mappings)
        if key not in self._symbols:
            self._symbols[key] = sampled_waits.symbols_of(process)
        return self._symbols[key]
