"""The cost of an algorithm per mutex: the library of all algorithms, with one for every mutex,
against the library of that algorithm."""

from collections.abc import Sequence
from dataclasses import replace

from lockwright.experiment import Outcome, Summary
from lockwright.plan.compiled import VARIABLE
from lockwright.preload.locks import registry
from lockwright.stats.spread import spread

from lockwright_lab.bench import runs, settings
from lockwright_lab.bench.measurement import Given, Measurement


def _remarks(cells: Sequence[Sequence[Summary]], _: Given) -> list[str]:
    texts = []
    for rows in cells:
        medians = [ratio.median for row in rows if (ratio := row.over_rounds("ratio"))]
        if (over_locks := spread(medians)) is not None:
            texts.append(
                f"{rows[0].cell}: median ratio over {over_locks.count} locks "
                f"{over_locks.median:.3f}, from {min(medians):.3f} to {max(medians):.3f}."
            )
    return texts


def _run(call: runs.Call) -> Outcome:
    call = settings.of_setting(call)
    own = replace(call.contender, environment={VARIABLE: f"D {call.contender.name}\n"})
    mixed = replace(own, subject=replace(own.subject, plain=registry().path_of_mixed()))
    return runs.in_pair(call.round, {"own": call.under(own).run, "mixed": call.under(mixed).run})


def _check(given: Given) -> Given:
    options = {**given.options, "warm-up": given.options["seconds"] / 4}
    return settings.only_locks(replace(given, options=options), "is not a lock of a plan")


MIXED = Measurement(
    "mixed",
    {"ns_more": settings.ns_more("own", "mixed")},
    check=_check,
    run=_run,
    first=runs.pinned,
    remarks=_remarks,
    title=settings.title,
)
