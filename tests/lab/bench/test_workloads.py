"""The workloads of lockwright-bench: exclusion, counts, figures and options."""

import csv
import json
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from lockwright.machine import pinning
from lockwright.machine.pinning import Processor
from lockwright.run.bench_program import program
from lockwright_lab.bench.catalogue import Workload, catalogue, parse
from support import locate, machine
from support.processes import captured

QUICK = {"seconds": "0.02", "warm-up": "0.005", "loops-per-us": "900"}

#: Options of workloads that take seconds to prepare with the paper's values.
SMALL: dict[str, dict[str, str]] = {
    "lockbench": {"section-max-ns": "500"},
    "random-array": {"words": "1024"},
    "malloc-stress": {"blocks": "20"},
    "keymap": {"keys": "1000"},
    "lru-cache": {"keys": "2000", "capacity": "100"},
    "many-locks": {"mutexes": "50"},
    "convoy": {"sleep-every": "50", "sleep-us": "100"},
    "migration": {"move-every": "20"},
    "futex-latency": {"naps": "5"},
    "waiting": {"period-us": "100"},
    "lazy-list": {"initial": "64", "range": "128"},
    "hash-set": {"initial": "64", "range": "128", "buckets": "16"},
    "copy-on-write": {"elements": "50", "update-percent": "50"},
    "buffer-pool": {"buffer-bytes": "4096", "buffers": "2"},
}

#: A lock that polls and one that parks.
LOCKS = {"", "ttas", "mcs-stp"}
FULL = pytest.mark.full("the workloads call a mutex, and do not know the lock")


def workloads() -> list[Workload]:
    try:
        return list(catalogue().workloads.values())
    except Exception as problem:
        pytest.skip(f"lockwright-bench is not built: {problem}", allow_module_level=True)


def run(workload: str, lock: str = "", **options: str) -> list[dict[str, Any]]:
    """Return the output lines of a run."""
    values = {**QUICK, **SMALL.get(workload, {}), **options}
    words = [word for name, value in values.items() for word in (f"--{name}", value)]
    done = captured(
        [program(), workload, *words], env={"LD_PRELOAD": str(locate.preload(lock))} if lock else {}
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_kind(lines: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (line,) = [line for line in lines if line["kind"] == kind]
    return line


def gini(values: list[float]) -> float:
    """Return the Gini coefficient: half the mean difference of all pairs, over the mean."""
    mean = statistics.fmean(values)
    pairs = [abs(a - b) for a in values for b in values]
    return statistics.fmean(pairs) / (2 * mean) if mean else 0.0


@pytest.mark.parametrize(
    ("workload", "lock"),
    [
        pytest.param(w, lock, marks=[] if lock in LOCKS else FULL)
        for w in workloads()
        for lock in (["", *locate.lock_names()] if w.uses_lock else [""])
    ],
    ids=lambda value: value.name if isinstance(value, Workload) else value or "libc",
)
def test_counts_add_up(workload: Workload, lock: str) -> None:
    """Operations are those of the threads, and no two threads were inside a section at once."""
    # On a machine that is busy, threads may get no processor for as long as a short run takes.
    for seconds in (QUICK["seconds"], "1", "10"):
        lines = run(workload.name, lock, seconds=seconds)
        measured = of_kind(lines, "measured")
        if measured["operations"] > 0:
            break
    assert Path(measured["mutex"]).name == (f"liblockwright-{lock}.so" if lock else "libc.so.6")
    assert measured[workload.main.field] >= 0
    for figure in workload.figures:
        assert measured.get(figure.field, 0) >= 0, figure
    if workload.uses_lock:
        final = of_kind(lines, "final")
        assert measured["operations"] > 0
        assert sum(measured["per_thread"]) == measured["operations"]
        assert len(measured["per_thread"]) == measured["threads"]
        assert sum(final["per_thread"]) == final["operations"] >= measured["operations"]
        assert final["guarded"] <= final["acquisitions"]
        rate = measured["operations"] / measured["seconds"]
        assert measured["operations_per_second"] == pytest.approx(rate)
        assert measured["gini"] == pytest.approx(gini(measured["per_thread"]), abs=1e-6)


@pytest.mark.parametrize("workload", workloads(), ids=lambda w: w.name)
def test_descriptions_are_complete(workload: Workload) -> None:
    """A source, a meaning of every parameter, and presets of existing parameters."""
    assert workload.measures
    assert workload.source
    names = [parameter.name for parameter in workload.parameters]
    assert len(set(names)) == len(names)
    for parameter in workload.parameters:
        assert parameter.meaning
        assert parameter.initial >= parameter.least
    for preset in workload.presets:
        assert set(preset.values) <= set(names)


def test_meters_agree_with_the_counts() -> None:
    """Each acquisition of the measured time is counted once by each meter."""
    lines = run("single-lock", latency="1", admissions="1", window="10", threads="3")
    times = {line["what"]: line for line in lines if line["kind"] == "latency"}
    admissions = of_kind(lines, "admissions")
    assert admissions["admissions"] == times["acquisition"]["count"]
    assert times["hold"]["count"] == times["operation"]["count"] == admissions["admissions"]
    assert admissions["windows"] == admissions["admissions"] // 10
    assert 1 <= admissions["average_lwss"] <= 3
    for line in times.values():
        names = ["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns"]
        shares = [line[name] for name in names]
        assert shares == sorted(shares)


#: Two nodes of two cores with two threads each, numbered as Linux does.
MACHINE = [
    Processor(number, node=number % 4 // 2, core=number % 4, thread=number // 4)
    for number in range(8)
]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("none", ""),
        ("core", "0;1;2;3;4;5;6;7"),
        ("node", "0,1,4,5;2,3,6,7"),
        ("compact", "0;4;1;5;2;6;3;7"),
        ("scatter", "0;2;1;3;4;6;5;7"),
    ],
)
def test_pinning(mode: str, expected: str) -> None:
    assert pinning.processor_lists(mode, MACHINE) == expected


def test_the_machine_is_read_from_the_kernel(tmp_path: Path) -> None:
    """Nodes, cores and their threads; a processor without an entry is a separate core."""
    tree = machine.make(
        tmp_path,
        {
            "/sys/devices/system/node/node1/cpulist": "0-1,7",
            f"{machine.CPU}/cpu0/topology/thread_siblings_list": "0,5",
            "/proc/self/status": "Cpus_allowed_list:\t0-1,5,9",
        },
    )
    assert pinning.usable_processors(tree) == [
        Processor(0, node=1, core=0, thread=0),
        Processor(1, node=1, core=1, thread=0),
        Processor(5, node=0, core=5, thread=0),
        Processor(9, node=0, core=9, thread=0),
    ]


def test_threads_run_where_they_are_pinned() -> None:
    """The kernel refuses a processor that does not exist."""
    done = captured([program(), "single-lock", "--pin", "1023"])
    assert done.returncode == 1
    assert "--pin" in done.stderr


def test_a_catalogue_of_words_and_presets() -> None:
    lines = [
        '{"workload":"","kind":"parameter","name":"seconds","initial":10,"least":0.001,'
        '"unit":"s","meaning":"m"}',
        '{"workload":"w","kind":"workload","measures":"m","source":"s","operation":"o",'
        '"threads":2,"one_mutex":1,"uses_lock":0}',
        '{"workload":"w","kind":"parameter","name":"form","initial":1,"least":0,"unit":"",'
        '"meaning":"m","words":"one,all"}',
        '{"workload":"w","kind":"preset","name":"p","values":"form=one n=3","meaning":"m"}',
        '{"workload":"w","kind":"figure","field":"f","heading":"h","meaning":"m",'
        '"lower_is_better":1}',
    ]
    known = parse(lines)
    workload = known.workloads["w"]
    assert (workload.one_mutex, workload.uses_lock) == (True, False)
    assert workload.parameters[0].default == "all"
    assert workload.presets[0].values == {"form": "one", "n": "3"}
    assert workload.main.lower_is_better
    assert known.common["seconds"].default == "10"


def command(lockwright: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return captured([lockwright, "bench", *words])


def test_list_shows_every_workload(lockwright: Path) -> None:
    listed = command(lockwright, "--list").stdout
    for name in ("uncontended", "footprint", "handover", "oversubscribe", "herd", "park"):
        assert f"\n  {name}: " in listed
    for workload in workloads():
        assert f"\n{workload.name}\n" in f"\n{listed}"
        assert workload.measures in listed
        assert workload.source in listed
        for parameter in workload.parameters:
            assert f"{parameter.name}={parameter.default}" in listed


def test_the_figures_are_those_of_the_runs(lockwright: Path, tmp_path: Path) -> None:
    """Medians, ratios within a round and the cost of the meters, recomputed from every run."""
    written, table = tmp_path / "result.json", tmp_path / "result.csv"
    done = command(
        lockwright,
        *("variable-contention", "--locks", "ttas", "--runs", "2", "--seconds", "0.05"),
        *("--warm-up", "0.005", "--threads", "1,2", "--set", "mutexes=1,8"),
        *("--set", "section-cycles=50"),
        *("--latency", "--calls", "--placement", "core"),
        *("--json", str(written), "--csv", str(table)),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(written.read_text())
    assert len(document["runs"]) == 2 * 4 * 2
    assert sum("counts" in run.get("counting", {}) for run in document["runs"]) == 2 * 4
    rates: dict[tuple[str, ...], dict[int, tuple[float, float]]] = defaultdict(dict)
    for run in document["runs"]:
        measured = [of_kind(each["lines"], "measured") for each in (run, run["metered"])]
        plain, metered = (each["operations_per_second"] for each in measured)
        rates[run["lock"], run["threads"], run["mutexes"]][run["round"]] = plain, metered
    for row in document["summaries"]:
        options, figures = (row["threads"], row["mutexes"]), row["figures"]
        own, libc = rates[row["lock"], *options], rates["libc", *options]
        # On a busy machine, a run of some milliseconds may complete no operation.
        expected = {
            "operations_per_second": [plain for plain, _ in own.values()],
            "ratio": [own[n][0] / libc[n][0] for n in own if libc[n][0]],
            "meters_cost": [
                metered / plain for plain, metered in own.values() if metered and plain
            ],
        }
        for name, values in expected.items():
            if values:
                assert figures[name]["median"] == pytest.approx(statistics.median(values))
            else:
                assert figures[name] is None
        assert all(figures[f"{kind}_count"] for kind in ("acquisition", "hold", "operation"))
        if row["lock"] == "ttas":
            assert figures["contended"]["median"] >= 0
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(document["runs"])
    cells = {(lock, str(threads), str(mutexes)) for lock, threads, mutexes in rates}
    assert {(row["lock"], row["threads"], row["mutexes"]) for row in rows} == cells
    unmetered = sorted(rate for runs in rates.values() for rate, _ in runs.values())
    assert sorted(float(row["operations_per_second"]) for row in rows) == pytest.approx(unmetered)
    text = " ".join(command(lockwright, "variable-contention", "--help", "--all").stdout.split())
    for heading, definition in document["columns"].items():
        assert f"{heading}: {' '.join(definition.split())}" in text
