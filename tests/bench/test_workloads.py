"""Each workload counts right under locks of every way of waiting, and its figures add up."""

import csv
import json
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lockwright.bench.catalogue import Workload, catalogue, parse
from lockwright.machine import pinning
from lockwright.machine.pinning import Processor
from lockwright.run.bench_program import program
from support import locate, machine
from support.processes import assert_refused, captured

QUICK = {"seconds": "0.02", "warm-up": "0.005", "loops-per-us": "900"}

#: What makes a run short where the paper's values would take seconds to prepare.
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

#: The C library, and a lock of each way of waiting; all locks where time does not matter.
LOCKS = locate.lock_names() if locate.LONG else ["ttas", "mcs-stp"]
BUILT = ["", *(lock for lock in LOCKS if lock in locate.lock_names())]


def workloads() -> list[Workload]:
    try:
        return list(catalogue().workloads.values())
    except Exception as problem:
        pytest.skip(f"lockwright-bench is not built: {problem}", allow_module_level=True)


def run(workload: str, lock: str = "", **options: str) -> list[dict[str, Any]]:
    """The lines that a run prints."""
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
    """Return the Gini coefficient by its definition: half the mean difference of all pairs, over
    the mean.
    """
    mean = statistics.fmean(values)
    pairs = [abs(a - b) for a in values for b in values]
    return statistics.fmean(pairs) / (2 * mean) if mean else 0.0


@pytest.mark.parametrize(
    ("workload", "lock"),
    [(w, lock) for w in workloads() for lock in (BUILT if w.uses_lock else [""])],
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
def test_says_where_it_is_from_and_what_it_takes(workload: Workload) -> None:
    """A paper or a figure, every parameter with its meaning, and presets of what there is."""
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
    """Each admission and each acquisition of the measured time is in the meters, and once."""
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


def test_a_preset_gives_way_to_what_is_given() -> None:
    """Whatever the order of the options."""
    for words in (
        ["--preset", "long-short", "--section-max-ns", "1"],
        ["--section-max-ns", "1", "--preset", "long-short"],
    ):
        done = captured([program(), "lockbench", *words, "--section-min-ns", "5"])
        assert done.returncode == 2
        assert "'--section-max-ns' is below" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["lockbench", "--preset", "none"], "'none'"),
        (["lockbench", "--pin", "x"], "'x'"),
        (["lockbench", "--seconds", "0"], "'--seconds'"),
        (["single-lock", "--threads", "0"], "'--threads'"),
        (["variable-contention", "--mutexes", "0"], "'--mutexes'"),
        (["variable-contention", "--admissions", "1"], "--admissions"),
        (["lockbench", "--naps", "1"], "'--naps'"),
    ],
)
def test_the_program_refuses(arguments: list[str], named: str) -> None:
    """The program writes one line and ends with status 2."""
    done = captured([program(), *arguments])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr


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
    """Each mode on a machine of two nodes, two cores each, two threads each."""
    assert pinning.processor_lists(mode, MACHINE) == expected


def test_the_machine_is_read_from_what_the_kernel_says(tmp_path: Path) -> None:
    """Nodes, cores and their threads; a processor of which nothing is said is a core of its own."""
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
    """A processor that does not exist is refused by the kernel, so the option reaches it."""
    done = captured([program(), "single-lock", "--pin", "1023"])
    assert done.returncode == 1
    assert "--pin" in done.stderr


def test_a_catalogue_of_words_and_presets() -> None:
    """The description that the program prints is read back unchanged."""
    lines = [
        '{"workload":"","kind":"parameter","name":"seconds","initial":10,"least":0.001,'
        '"unit":"s","meaning":"m"}',
        '{"workload":"w","kind":"workload","measures":"m","source":"s","operation":"o",'
        '"threads":2,"one_mutex":1,"uses_lock":0}',
        '{"workload":"w","kind":"parameter","name":"way","initial":1,"least":0,"unit":"",'
        '"meaning":"m","words":"one,all"}',
        '{"workload":"w","kind":"preset","name":"p","values":"way=one n=3","meaning":"m"}',
        '{"workload":"w","kind":"figure","field":"f","heading":"h","meaning":"m",'
        '"lower_is_better":1}',
    ]
    known = parse(lines)
    workload = known.workloads["w"]
    assert (workload.one_mutex, workload.uses_lock) == (True, False)
    assert workload.parameters[0].default == "all"
    assert workload.presets[0].values == {"way": "one", "n": "3"}
    assert workload.main.lower_is_better
    assert known.common["seconds"].default == "10"


def command(lockwright: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return captured([lockwright, "bench", *words])


def test_list_shows_every_workload(lockwright: Path) -> None:
    """Each workload stands with what it measures, its source and its parameters, beside the
    measurements.
    """
    shown = command(lockwright, "--list").stdout
    for name in ("uncontended", "footprint", "handover", "oversubscribe", "herd", "park"):
        assert f"\n  {name}: " in shown
    for workload in workloads():
        assert f"\n{workload.name}\n" in f"\n{shown}"
        assert workload.measures in shown
        assert workload.source in shown
        for parameter in workload.parameters:
            assert f"--{parameter.name} {parameter.default}" in shown


def test_the_figures_are_those_of_the_runs(lockwright: Path, tmp_path: Path) -> None:
    """Medians, ratios within a round and the cost of the meters, recomputed from every run."""
    written, table = tmp_path / "result.json", tmp_path / "result.csv"
    done = command(
        lockwright,
        *("variable-contention", "--locks", "ttas", "--runs", "2", "--seconds", "0.05"),
        *("--warm-up", "0.005", "--threads", "1,2", "--mutexes", "1,8", "--section-cycles", "50"),
        *("--latency", "--calls", "--pin", "core"),
        *("--json", str(written), "--csv", str(table)),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(written.read_text())
    assert len(document["runs"]) == 2 * 4 * (2 * 2 + 1)
    rates: dict[tuple[str, str, str, bool, int], float] = {}
    for one in document["runs"]:
        measured = [line for line in one["lines"] if line["kind"] == "measured"]
        if not one.get("counting"):
            key = one["lock"], one["threads"], one["mutexes"], one["metered"], one["round"]
            rates[key] = measured[0]["operations_per_second"]
    for row in document["rows"]:
        where = row["threads"], row["mutexes"]
        own = [rates[row["lock"], *where, False, round_number] for round_number in range(2)]
        libc = [rates["libc", *where, False, round_number] for round_number in range(2)]
        metered = [rates[row["lock"], *where, True, round_number] for round_number in range(2)]
        assert row["operations_per_second"]["median"] == pytest.approx(statistics.median(own))
        # On a machine that is busy, a run of some milliseconds may get nothing done.
        ratios = [a / b for a, b in zip(own, libc, strict=True) if a and b]
        costs = [a / b for a, b in zip(metered, own, strict=True) if b]
        for name, values in (("ratio", ratios), ("meters_cost", costs)):
            if values:
                assert row[name]["median"] == pytest.approx(statistics.median(values))
            else:
                assert row[name] is None
        assert set(row["latencies"]) >= {"acquisition", "hold", "operation"}
        if row["lock"] == "ttas":
            assert row["contended"]["median"] >= 0
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["lock"], row["threads"], row["mutexes"]) for row in rows] == [
        (lock, threads, mutexes)
        for threads in ("1", "2")
        for mutexes in ("1", "8")
        for lock in ("libc", "ttas")
    ]
    assert all(float(row["operations_per_second"]) > 0 for row in rows)
    text = " ".join(command(lockwright, "variable-contention", "--help").stdout.split())
    for heading, definition in document["columns"].items():
        assert f"{heading}: {' '.join(definition.split())}" in text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["lockbench", "--preset", "none"], "none"),
        (["lockbench", "--threads", "0"], "'0'"),
        (["lockbench", "--threads", "1.5"], "'1.5'"),
        (["lockbench", "--section-max-ns", "long"], "'long'"),
        (["lockbench", "--pin", "here"], "here"),
        (["lockbench", "--csv", "/nonexistent/x.csv"], "/nonexistent/x.csv"),
        (["variable-contention", "--mutexes", "0"], "'0'"),
        (["naps"], "naps"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    lockwright: Path, arguments: list[str], named: str
) -> None:
    """The line says what is wrong and what to do, and the status is 2."""
    done = command(lockwright, *arguments)
    assert_refused(done.returncode, done.stdout, done.stderr, named)
