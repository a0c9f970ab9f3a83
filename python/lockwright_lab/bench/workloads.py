"""A workload of the catalogue as a measurement: under several locks, with every combination of its
options."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lockwright.base.errors import LockwrightError
from lockwright.experiment import Outcome, Summary
from lockwright.experiment.columns import no_value
from lockwright.machine import pinning
from lockwright.run.bench_program import LIBC
from lockwright.stats.spread import format_spread
from msgspec import structs

from lockwright_lab.bench import runs
from lockwright_lab.bench.catalogue import RATE, Catalogue, Parameter, Workload
from lockwright_lab.bench.measurement import (
    Declaration,
    Given,
    Measurement,
    OfTable,
    Option,
    Row,
    declaration,
)

PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "max")

TIMES = {
    "acquisition": "from the call, or with --rate from its due time, to the return with the mutex",
    "hold": "from there to the call that unlocks",
    "handover": "from that call to the return of a thread that was waiting by then",
    "operation": "a complete step, likewise from its due time",
}
"""The kinds of times with their meanings."""

METERED, PLAIN = "metered", "plain"

_METERS = ("latency", "admissions")
"""The options that switch meters on, which are the measuring program's, too."""

_USAGE = ("cpus", "voluntary", "involuntary", "switches", "moves")
_FAULTS = ("minor_faults", "major_faults", "faults")
"""The figures of every workload, also of one without a lock."""


def _option(parameter: Parameter) -> Option:
    """Return the option of a parameter, a list."""
    unit = f" ({parameter.unit})" if parameter.unit else ""
    choice = f" One or more of {', '.join(parameter.words)}." if parameter.words else ""
    return Option(
        default=[parameter.default if parameter.words else parameter.initial],
        text=f"{parameter.meaning[:1].upper()}{parameter.meaning[1:]}{unit}.{choice}",
        least=parameter.least,
        among=list(parameter.words),
        cell=f"{parameter.name} {{}}",
        only_several=True,
    )


def _options(workload: Workload, known: Catalogue) -> dict[str, Option]:
    """Return the options: the workload's own ones, and those that all have."""
    threads = Option(
        default=[workload.threads],
        text="Threads. Several values, separated by commas, are combined with those of other "
        "options.",
        least=1,
        cell="threads {}",
    )
    modes = "; ".join(f"{mode}: {meaning}" for mode, meaning in pinning.MODES.items())
    common = declaration("workload").options
    pin = structs.replace(common["placement"], text=f"Which processors a thread may use. {modes}.")
    options = {"threads": threads, **{each.name: _option(each) for each in workload.parameters}}
    needed = ["seconds", *(("warm-up", "rate") if workload.uses_lock else ())]
    for name in [*needed, *(["window"] if workload.one_mutex else [])]:
        parameter = known.common[name]
        text = "" if name in ("seconds", "warm-up") else _option(parameter).text
        options[name] = Option(default=float(parameter.initial), least=parameter.least, text=text)
    meters = [*(("latency", "calls") if workload.uses_lock else ())]
    meters += ["admissions"] if workload.one_mutex else []
    return {**options, "placement": pin, **{name: common[name] for name in meters}}


def _rows(workload: Workload) -> dict[str, Row]:
    """Return the figures of the main table, in the order of its columns."""
    known = declaration("workload").figures
    own = {
        each.field: Row(
            heading=each.heading,
            value=f"measured: {each.field}",
            definition=f"{each.meaning}.",
            lower=each.lower_is_better,
        )
        for each in workload.figures
    }
    if not workload.uses_lock:
        return own | {name: known[name] for name in (*_USAGE, *_FAULTS)}
    rate = known[RATE.field]
    meaning = rate.definition.format(operation=workload.operation)
    first = {RATE.field: structs.replace(rate, definition=meaning)}
    first |= {name: known[name] for name in ("ratio", "interval")}
    return {**first, **own} | {name: row for name, row in known.items() if name not in first | own}


def _times(kind: str) -> dict[str, Row]:
    """Return the figures of a kind of time."""
    share = Row(
        unit="ns",
        lower=True,
        scale=1000,
        run=METERED,
        needs=("latency",),
        definition="microseconds that this share of them did not exceed (an HDR histogram: at most "
        "0.8 % above); median over the rounds.",
    )
    rows = {
        f"{kind}_{name}_ns": structs.replace(
            share, heading=name, value=f"latency {kind}: {name.replace('.', '_')}_ns"
        )
        for name in PERCENTILES
    }
    longest = "the longest of all rounds, in microseconds, exact."
    rows[f"{kind}_max_ns"] = structs.replace(rows[f"{kind}_max_ns"], show="max", definition=longest)
    count = Row(
        heading="count",
        value=f"latency {kind}: count",
        run=METERED,
        show="sum",
        needs=("latency",),
        definition="their number, over all rounds.",
    )
    return {f"{kind}_count": count, **rows}


def _rate(row: Summary) -> str:
    rate = row.over_rounds(RATE.field)
    if row.timeouts:
        return "timed out"
    return format_spread(rate) if rate else no_value(row)


def _interval(row: Summary) -> str:
    found = row.ratio
    if found is None or found.low is None or found.high is None or row.contender == LIBC:
        return "-"
    return f"{found.low:.3f} to {found.high:.3f}"


def _remarks(cells: Sequence[Sequence[Summary]], _: Given) -> list[str]:
    late = dict.fromkeys(row.contender for rows in cells for row in rows if row.timeouts)
    return [f"Did not end in time: {', '.join(late)}."] if late else []


def _both(plain: runs.Call, metered: Mapping[str, object]) -> Outcome:
    """Return the outcome of a run without meters, whose details have those of one with meters. The
    order of the two alternates from round to round."""
    made = runs.in_pair(plain.round, {PLAIN: plain.run, METERED: plain.having(metered).run})
    details = {**made.details, **made.details[PLAIN], METERED: made.details[METERED]}
    of_both = {name: made.details[name] for name in ("problems", "remarks")}
    return replace(made, details={**details, **of_both})


def _run(call: runs.Call) -> Outcome:
    metered = {name: 1 for name in _METERS if call.own.get(name)}
    made = _both(call, metered) if metered else call.run()
    return runs.also_counted(made, call) if call.own.get("calls") else made


def _check(given: Given) -> Given:
    for cell in given.cells:
        if not isinstance(cell.options["threads"], int):
            raise LockwrightError(
                f"'{cell.options['threads']:g}' is not a number of threads",
                "give whole numbers with --threads",
            )
    processors = pinning.processor_lists(given.own["placement"], pinning.usable_processors())
    pin = {"pin": processors} if processors else {}
    return replace(given, options={**given.options, **pin})


def measurement(workload: Workload, known: Catalogue) -> Measurement:
    """Return the measurement of a workload. known: the catalogue that it is from."""
    rows = _rows(workload)
    tables = [OfTable(f"{workload.name}: {workload.measures}, {{cell}}", list(rows))]
    for kind, meaning in TIMES.items() if workload.uses_lock else ():
        times = _times(kind)
        title = f"{kind} times in microseconds: {meaning}, {{cell}}"
        tables.append(OfTable(title, list(times), ("latency",)))
        rows |= times
    declared: Declaration = structs.replace(
        declaration("workload"),
        summary=f"{workload.measures[:1].upper()}{workload.measures[1:]}.",
        more=[f"Source: {workload.source}."],
        tables=tables,
        figures=rows,
        options=_options(workload, known),
        with_locks=workload.uses_lock,
    )
    return Measurement(
        workload.name,
        {RATE.field: _rate, "interval": _interval},
        check=_check,
        contenders=lambda given: given.contenders or runs.contenders([runs.LIBC_SUBJECT]),
        run=_run,
        first=runs.calibration,
        remarks=_remarks,
        further={"reference": LIBC} if workload.uses_lock else {},
        declaration=declared,
    )
