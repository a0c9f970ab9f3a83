"""The cost of `lockwright profile` and of `lockwright run --metrics` for the program."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from lockwright.base.errors import LockwrightError
from lockwright.experiment import LEFT_OUT, Cell, Contender, Outcome, Summary
from lockwright.preload import locks
from lockwright.profile import buffer as buffers
from lockwright.profile import collect
from lockwright.profile.buffer import Buffers
from lockwright.profile.watch import Watcher
from lockwright.run.bench_program import LIBC, Subject
from lockwright.stats import inference
from lockwright.stats.spread import format_spread, spread

from lockwright_lab.bench import runs, settings
from lockwright_lab.bench.measurement import Given, Measurement
from lockwright_lab.bench.settings import Setting

PROFILED = "profiled"


def comparisons() -> dict[str, Mapping[str, Contender]]:
    """Return the two costs: of profiling the C library's mutex, and of the metrics of the default
    lock, each with the two libraries that are compared."""
    registry = locks.registry()
    lock = registry.default
    library = Subject(lock.name, registry.path_of(lock.name), lock=lock)
    profiled = Subject(PROFILED, collect.probe_path())
    return {
        "Cost of profiling": {
            "measured": Contender(PROFILED, subject=profiled),
            "plain": Contender(LIBC, subject=Subject(LIBC)),
        },
        f"Cost of --metrics with {lock.name}": {
            "measured": Contender(f"{lock.name} with metrics", {locks.METRICS: "1"}, library),
            "plain": Contender(lock.name, subject=library),
        },
    }


def _time(name: str) -> Callable[[Summary], str]:
    def text(row: Summary) -> str:
        setting: Setting = row.of_contender.subject
        times = row.by_round(name).values()
        figures = spread([time if setting.is_time else 1 / time for time in times])
        unit = "ns" if setting.is_time else "op/s"
        return "-" if figures is None else f"{format_spread(figures)} {unit}"

    return text


def _limits(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:+.1f} to {interval[1]:+.1f} %"


def _cost(row: Summary) -> str:
    costs = row.over_rounds("cost_percent")
    return "-" if costs is None else f"{costs.median:+.1f} %"


def _interval(row: Summary) -> str:
    return _limits(inference.median_interval(list(row.by_round("cost_percent").values())))


def _quartiles(row: Summary) -> str:
    costs = row.over_rounds("cost_percent")
    return _limits((costs.low, costs.high) if costs else None)


def measure(call: runs.Call) -> Outcome:
    """Make one of the two runs. Raises LockwrightError if the profiler recorded nothing."""
    if call.contender.name != PROFILED:
        return call.run()
    with buffers.new() as path:
        process_buffers = Buffers(path)
        watcher = Watcher(process_buffers)
        watcher.start()
        try:
            contender = replace(call.contender, environment={buffers.VARIABLE: str(path)})
            made = call.under(contender).run()
        finally:
            watcher.stop()
        first = process_buffers.first
        seen = first.records["samples"].any() or first["objects"]["waits"].any()
        if made.finished and not seen:
            raise LockwrightError(
                "the profiler was loaded and recorded nothing", "build or install Lockwright again"
            )
        return made


def _run(call: runs.Call) -> Outcome:
    """Return the outcome of both runs. A round of which a run has no figure has none."""
    options = dict(call.options)
    compared, setting = comparisons()[str(options.pop("cost"))], call.contender.subject
    seconds = float(str(options.pop("seconds")))
    if not setting.of_mutexes and PROFILED not in (each.name for each in compared.values()):
        return Outcome(LEFT_OUT)
    if setting.batches:
        # A pair takes some nanoseconds.
        options = {**setting.options, "batches": max(1, round(seconds * setting.batches))}
    else:
        if setting.one_core:
            options["pin"] = str(options.get("pin", "")).partition(";")[0]
        known = options if setting.workload == "lockbench" or setting.one_core else {}
        options = {**setting.having_threads(), "seconds": seconds, **known}
    call = replace(call, workload=setting.workload, options=options)
    made = runs.in_pair(
        call.round, {name: partial(measure, call.under(form)) for name, form in compared.items()}
    )
    times: dict[str, float] = {}
    faults: list[str] = []
    for name, form in compared.items():
        details = made.details[name]
        value = runs.field(setting.value)(Outcome(details=details))
        if value and not details["note"]:
            times[name] = value if setting.is_time else 1 / value
        else:
            faults.append(f"the run of {form.name}: {details['note'] or 'no operation'}")
    if faults:
        why = f"{call.contender.name}: round {call.round} is left out; {'; '.join(sorted(faults))}"
        return replace(made, details={**made.details, "lines": [], "remarks": [why]})
    return replace(made, details={**made.details, "lines": [{"kind": "pair", **times}]})


def _check(given: Given) -> Given:
    return replace(given, cells=[Cell(title, {"cost": title}) for title in comparisons()])


def _settings(_: Given) -> list[Contender]:
    return [Contender(name, subject=each) for name, each in settings.settings("costs").items()]


PROFILE_COST = Measurement(
    "profile-cost",
    {
        "plain": _time("plain"),
        "measured": _time("measured"),
        "cost_percent": _cost,
        "interval": _interval,
        "quartiles": _quartiles,
    },
    check=_check,
    contenders=_settings,
    run=_run,
    first=runs.pinned,
    has_row=lambda row: not row.left_out,
    further={"give_up_on": frozenset()},
    explained=partial(settings.terms, "costs"),
)
