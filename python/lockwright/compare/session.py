"""The missing runs of a comparison, made in order and each stored at once."""

from collections.abc import Sequence

from lockwright.base.progress import Display, remaining_seconds
from lockwright.compare import stats
from lockwright.compare.plan import Slot
from lockwright.compare.runner import Runner
from lockwright.compare.store import Comparison, Store
from lockwright.compare.warnings import at_threads
from lockwright.preload.locks import Registry
from lockwright.run.record import Record


def carry_out(
    comparison: Comparison, store: Store, registry: Registry, runner: Runner
) -> list[Record]:
    """Make the missing runs, and return all, including those of earlier invocations."""
    plan = comparison.plan
    libraries = {lock: plan.path_of(lock, registry) for lock in plan.locks}
    records = store.records(comparison)
    finished = {Slot(r.threads, r.round, r.lock) for r in records}
    slots = list(plan.slots())
    to_do = [slot for slot in slots if slot not in finished]
    with Display(len(slots), len(finished)) as display:
        while to_do:
            slot = to_do[0]
            if not stats.has_given_up(records, slot.threads, slot.lock):
                _show(display, slot, records, to_do)
                record = runner.measure(slot, libraries[slot.lock])
                store.add(comparison, record)
                records.append(record)
            to_do.pop(0)
            display.advance()
    return records


def _show(display: Display, slot: Slot, done: Sequence[Record], to_do: Sequence[Slot]) -> None:
    left = remaining_seconds(
        (([(run.threads, run.lock), run.threads], run.wall) for run in done),
        ([(waiting.threads, waiting.lock), waiting.threads] for waiting in to_do),
    )
    number = f"round {slot.round}" if slot.counted else "warm-up"
    where = at_threads(slot.threads).removeprefix(" at ")
    about = ", ".join(part for part in (where, number, slot.lock) if part)
    display.announce(about, ", ".join(part for part in (where, number) if part), left)
