"""Every declared measurement of `lockwright bench`: its runs, tables, resumption, and refusals."""

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lockwright.run import bench_program
from lockwright_lab.bench.declared import MEASUREMENTS
from lockwright_lab.bench.measurement import Measurement
from support import tiers
from support.processes import captured

from .conftest import Cli, Refuses, count_runs

Document = dict[str, Any]

QUICK = {
    "uncontended": "--locks ttas,mcs-stp --runs 2 --set batch=1000 --set batches=2",
    "footprint": "--locks ttas,mcs-stp,hmcs --runs 1 --set mutexes=10000 --set waiters=100 "
    "--set sharers=5",
    "handover": "--locks ttas,mcs-stp --runs 1 --seconds 0.05 --threads-per-core 1,2",
    "herd": "--locks ttas,mcs-stp --runs 1 --set section-ns=1000,0 --set waiters=40 "
    "--set rounds-inside=3",
    "oversubscribe": "--locks futex --runs 1 --threads-per-core 1,2 --seconds 1.1",
    "rwlock": "--rwlocks keep,mutex,big-reader --runs 1 --threads-per-core 2 --seconds 0.05 "
    "--set read-percent=0,90,100",
    "park": "--runs 1 --set trips=500",
    "interposition": "--locks pthread,ttas --settings empty --runs 5 --seconds 0.01 --warm-up 0",
    "mixed": "--locks pthread,ttas --settings empty,short-short --runs 2 --seconds 0.05",
    "plan": "--locks pthread,ttas,mcs-stp,hmcs --runs 2 --work 1 --set mutexes=1000 "
    "--set threads-per-processor=1 --set times=2000 --set crowd=pthread --set exchange=ttas",
    "profile-cost": "--runs 1 --seconds 0.02",
}
"""Options for runs of less than a second, by measurement."""


def lines(document: Document, kind: str) -> list[tuple[Document, Document]]:
    """Return each (run, line) with a line of that kind."""
    return [
        (run, line) for run in document["runs"] for line in run["lines"] if line["kind"] == kind
    ]


def library(details: Document) -> str:
    """Return the file that served the calls of a run."""
    return next(Path(line["mutex"]).name for line in details["lines"] if "mutex" in line)


def rows(document: Document) -> dict[str, Document]:
    """Return the rows of the only table by the contender."""
    what = next(key for key in ("lock", "placement", "setting") if key in document["summaries"][0])
    return {row[what]: row for row in document["summaries"]}


def check_uncontended(found: Document) -> None:
    """Each run uses the library that it is named after, and has a run of libc beside it."""
    for run, line in lines(found, "result"):
        expected = f"liblockwright-{run['lock']}.so" if run["lock"] != "libc" else "libc.so.6"
        assert (library(run), line["pairs"]) == (expected, 2000)
        assert library({"lines": run["beside"]}) == "libc.so.6"


def check_footprint(found: Document) -> None:
    """No lock has memory for each pair of a mutex and a thread; queue nodes are found."""
    for name, row in rows(found).items():
        assert row["table"]["promise"] == "holds", name
    figures = {name: row["figures"] for name, row in rows(found).items()}
    for name in ("bytes_per_thread", "bytes_per_held"):
        assert figures["libc"][name]["median"] == 0 < figures["mcs-stp"][name]["median"]
    assert 0.9 < figures["mcs-stp"]["bytes_per_held"]["median"] / 64 < 1.1


def check_final(found: Document) -> None:
    """Per-thread counts, the guarded counter and the counting library agree on the total."""
    assert lines(found, "final")
    for run, line in lines(found, "final"):
        assert sum(line["per_thread"]) == line["acquisitions"] == line["guarded"]
        assert len(line["per_thread"]) == run["threads"]


def check_handover(found: Document) -> None:
    check_final(found)
    counting = {run["lock"]: run["counting"] for run in found["runs"] if "counting" in run}
    assert set(counting) == {"ttas", "mcs-stp"}
    for counted in counting.values():
        (line,) = [each for each in counted["lines"] if each["kind"] == "final"]
        assert counted["counts"]["acquisitions"] == line["acquisitions"] == line["guarded"]
        assert (counted["counts"]["mutexes"], counted["counts"]["unresolved"]) == (1, 0)


def check_oversubscribe(found: Document) -> None:
    """The windows, the longest wait and the counts belong to the threads that ran."""
    check_final(found)
    for run, line in lines(found, "measured"):
        assert line["threads"] == run["threads"]
        assert 0 < line["longest_wait_ns"] < 1e9 * run["wall"]
        assert line["least_in_a_second"] * line["threads"] <= line["acquisitions"]
    fewest = found["summaries"][0]["threads"]
    for row in found["summaries"]:
        figures = row["figures"]
        assert figures["kept"]["count"] == figures["ratio"]["count"] == 1
        assert row["threads"] != fewest or figures["kept"]["median"] == 1
        assert row["lock"] != "libc" or figures["ratio"]["median"] == 1


def check_rwlock(found: Document) -> None:
    """The shares of reads are as requested, and no writer is inside beside another thread."""
    for row in found["summaries"]:
        figures, share = row["figures"], row["read-percent"]
        assert (figures["reads_per_second"]["median"] == 0) == (share == 0)
        assert (figures["writes_per_second"]["median"] == 0) == (share == 100)
        assert min(figures[f"{kind}_pair_ns"]["median"] for kind in ("read", "write")) > 0
    assert all(line["torn"] == 0 for _, line in lines(found, "ended"))


def check_herd(found: Document) -> None:
    """Every waiter has exactly one section for each broadcast, and sleeps at least once."""
    assert all(line["sections"] == 40 * 3 for _, line in lines(found, "final"))
    assert len(lines(found, "broadcast")) == 3 * len(found["runs"])
    is_again = found["plan"]["rejoin"]
    assert is_again or all(line["voluntary"] >= 40 for _, line in lines(found, "broadcast"))


def check_park(found: Document) -> None:
    """On one processor each round trip needs a switch to the other thread and one back."""
    (trips,) = [line for run, line in lines(found, "result") if run["placement"] == "one processor"]
    assert trips["voluntary"] + trips["involuntary"] >= trips["trips"]


def check_pairs(found: Document) -> None:
    """Each pair of runs is of one lock, in its two forms."""
    forms = {"pthread": "libc.so.6", "ttas": "ttas.hpp"}
    for run in found["runs"]:
        own = f"liblockwright-{run['lock']}.so"
        if "direct" in run:
            served = (library(run["direct"]), library(run["interposed"]))
            assert served == (forms[run["lock"]], own)
        else:
            assert (library(run["own"]), library(run["mixed"])) == (own, "liblockwright-mixed.so")
    for row in found["summaries"]:
        assert (row["table"]["ns more"] != "-") == (row["setting"] == "empty")


def check_plan(found: Document) -> None:
    """The plan has figures for each phase, runs beside each lock, and needs memory as its locks."""
    for row in rows(found).values():
        figures = row["figures"]
        phases = sum(figures[f"{n}_seconds"]["median"] for n in ("quiet", "crowd", "exchange"))
        assert figures["seconds"]["count"] == figures["to_plan"]["count"] == 2
        assert 0 < phases < 2 * figures["seconds"]["high"]
    assert {library(run["beside"]) for run in found["runs"]} == {"liblockwright-mixed.so"}
    taken = {name: row["figures"]["taken_bytes"]["median"] for name, row in rows(found).items()}
    assert taken["plan"] == taken["ttas"] == taken["pthread"] == 0 < taken["mcs-stp"]
    assert taken["hmcs"] >= 1000 * 64


def check_profile_cost(found: Document) -> None:
    """What takes no mutexes has no metrics."""
    costs = {(run["cost"], run["setting"]): run["outcome"] for run in found["runs"]}
    left_out = {setting for (_, setting), ended in costs.items() if ended == "left out"}
    settings = Counter(cost for (cost, _), ended in costs.items() if ended != "left out")
    assert sorted(settings.values()) == [5, 13]
    of_locks = {"read pair", "write pair", "reads", "reads and writes"}
    assert left_out == of_locks | {"semaphore", "barrier", "futex", "short thread"}


CHECKS: dict[str, Callable[[Document], None]] = {
    "uncontended": check_uncontended,
    "footprint": check_footprint,
    "handover": check_handover,
    "herd": check_herd,
    "oversubscribe": check_oversubscribe,
    "rwlock": check_rwlock,
    "park": check_park,
    "interposition": check_pairs,
    "mixed": check_pairs,
    "plan": check_plan,
    "profile-cost": check_profile_cost,
}


#: They take five to ten seconds.
LONG = {"interposition", "profile-cost", "oversubscribe", "handover", "mixed"}


def document(cli: Cli, tmp_path: Path, *words: str) -> tuple[str, Document]:
    """Return what a command prints, and its JSON document."""
    target = tmp_path / "result.json"
    done = cli("bench", *words, "--json", target)
    assert done.status == 0, done.out + done.err
    return done.out, json.loads(target.read_text())


@pytest.mark.parametrize(
    "measurement",
    tiers.short(
        MEASUREMENTS,
        [each for each in MEASUREMENTS if each.name not in LONG],
        "takes five to ten seconds, through the code of the others",
    ),
    ids=lambda each: each.name,
)
def test_each_measurement_has_its_figures(
    cli: Cli, tmp_path: Path, measurement: Measurement
) -> None:
    """Every column is in its table and defined by the help; every figure has a value."""
    words = (measurement.name, *QUICK[measurement.name].split())
    printed, found = document(cli, tmp_path, *words)
    shown = cli("bench", measurement.name, "--help", "--all").out
    for column in measurement.columns:
        assert f"{column.heading}: " in shown
        assert column.heading in printed
    # On a busy machine a short run may have no figure, but not all of them.
    for name in measurement.figures:
        if not name.startswith("least_in"):
            assert any(row["figures"][name] for row in found["summaries"]), name
    CHECKS[measurement.name](found)


@pytest.mark.parametrize("variant", ["unlocked", "rejoin"])
def test_variants_of_a_broadcast(cli: Cli, tmp_path: Path, variant: str) -> None:
    check_herd(
        document(cli, tmp_path, "herd", *QUICK["herd"].split(), "--set", f"{variant}=yes")[1]
    )


@pytest.mark.full("takes long, and tests of compare and study resume, too")
def test_an_interrupted_measurement_is_resumed(
    cli: Cli, command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    """The runs so far are in the results; the same command with --resume makes the others."""
    base = tmp_path / "runs.sqlite"
    words = ["uncontended", "--locks", "ttas", "--runs", "10", "--db", str(base)]
    with subprocess.Popen(
        [*command, "bench", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    ) as process:  # fmt: skip
        while count_runs(base) < 4:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert "--resume" in err
    assert "ratio to libc" in out
    made = count_runs(base)
    found = document(cli, tmp_path, *words, "--resume")[1]
    assert len(found["runs"]) == count_runs(base) == 20 > made


def test_a_study_reads_the_pairs_as_a_validation(cli: Cli, tmp_path: Path) -> None:
    runs = tmp_path / "runs.csv"
    words = (*QUICK["interposition"].split(), "--csv", str(runs))
    printed, found = document(cli, tmp_path, "interposition", *words)
    assert "All locks together" in printed
    (summary,) = found["summary"]
    assert summary["locks"] == summary["within"] + summary["beyond"] + summary["open"] == 2
    analysed = cli("study", "analyse", "--show", "all", runs)
    assert analysed.status == 0, analysed.err
    assert "interposed" in analysed.out


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("uncontended --locks tas", ["'tas'"]),
        ("handover --threads-per-core many", ["'many'"]),
        ("oversubscribe --threads-per-core 0", ["'0'"]),
        ("herd --set section-ns=-1", ["'-1'"]),
        ("footprint --set mutexes=10 --set warm=10", ["warm=10"]),
        ("footprint --set waiters=10 --set sharers=11", ["sharers=11"]),
        ("rwlock --rwlocks big-readers", ["'big-reader'"]),
        ("rwlock --set read-percent=101", ["'101' for read-percent"]),
        ("park --json /nonexistent/result.json", ["/nonexistent/result.json"]),
        ("park --resume", ["no interrupted park"]),
        ("interposition --settings full", ["'full' for --settings", "short-long"]),
        ("interposition --settings ,", ["',' for --settings"]),
        ("interposition --locks libc", ["libc"]),
        ("mixed --locks null", ["'null' is not a lock of a plan"]),
        ("plan --set quiet=tta", ["'tta'", "did you mean 'ttas'?"]),
        ("park --set trips", ["--set 'trips' has no value"]),
        ("park --set trips=few", ["'few' for trips", "a whole number from 1 on"]),
        ("herd --set rejoin=1", ["'1' for rejoin", "yes or no"]),
        ("park --set trip=1", ["no parameter 'trip'", "trips"]),
        ("lockbench --preset none", ["none"]),
        ("lockbench --threads 1.5", ["'1.5'"]),
        ("lockbench --set section-max-ns=long", ["'long'"]),
        ("lockbench --placement here", ["here"]),
        ("variable-contention --set mutexes=0", ["'0'"]),
        ("naps", ["naps"]),
        ("claims --claims no-such", ["no claim 'no-such'"]),
        ("claims --claims ,", ["--claims names no claim"]),
        ("claims --runs 5", ["--runs"]),
        ("claims --csv same --json same", ["same file"]),
        ("claims --simulated --seconds 1", ["--simulated has a fixed time for each claim"]),
        ("claims --simulated --runs 6", ["--simulated has seeds, not runs"]),
        ("claims --seeds 3", ["--seeds is for simulations"]),
        ("regret --lock no-such", ["no-such"]),
        ("regret --lock all", ["'all' is not one lock"]),
        ("regret --locks no-such", ["no-such"]),
        ("regret --lock adaptive-rw --locks ttas", ["'ttas'"]),
        ("regret --cells no/such", ["no cell matches 'no/such'", "families"]),
        ("regret --machine no-such", ["no machine is named"]),
        ("regret --machine a-64 --cells hog", ["none of these cells"]),
        ("regret --lock null --locks ttas --ablate", ["can be switched off"]),
        ("predict --programs pigs", ["'pigs'", "pigz"]),
        ("predict --parts run", ["'run'", "runs"]),
        ("predict --threads 0", ["--threads"]),
        ("predict --locks mcss", ["no lock is named 'mcss'"]),
        ("simulator --parts rel", ["'rel'", "simulated"]),
        ("simulator --workloads sleep-period", ["sleep-period"]),
    ],
)
def test_bad_input_is_refused_in_one_line(refuses: Refuses, words: str, parts: list[str]) -> None:
    """Nothing is run before the message."""
    refuses(["bench", *words.split()], *parts)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("", "no workload"),
        ("nap", "'nap'"),
        ("park --naps 1", "--naps"),
        ("park --trips", "--trips"),
        ("park --trips few", "'few'"),
        ("park --trips 0", "--trips"),
        ("footprint --warm 5 --mutexes 5", "--warm"),
        ("lockbench --preset none", "'none'"),
        ("lockbench --seconds 0", "'--seconds'"),
        ("single-lock --threads 0", "'--threads'"),
        ("variable-contention --admissions 1", "--admissions"),
        ("lockbench --preset long-short --section-max-ns 1 --section-min-ns 5", "is below"),
        ("lockbench --section-max-ns 1 --preset long-short --section-min-ns 5", "is below"),
    ],
)
def test_the_measuring_program_refuses_bad_options(words: str, named: str) -> None:
    done = captured([bench_program.program(), *words.split()])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("lockwright-bench: ")
    assert named in done.stderr
