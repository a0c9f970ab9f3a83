"""The analysis of the published runs gives the published tables, digit by digit, but for what is
named here with its reason."""

import math
import tempfile
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from lockwright_lab.study import changes, descriptive, effect, lock_names, reading
from lockwright_lab.study.analysis import Analysis, Choices, analyse
from lockwright_lab.study.cells import Cells, condense
from lockwright_lab.study.dataset import DataSet
from lockwright_lab.study.descriptive import pairwise
from lockwright_lab.study.result_table import MISSING, text
from lockwright_lab.study.rules import Margin

from . import made, published

RULE = Margin()

#: The public runs of memcached are others than those of the papers: with other node counts (9.2).
#: All other applications are the same.
MEMCACHED = ("memcached-new", "memcached-old")

#: Locks that the papers did not run with memcached: without a trylock, or with one that blocks.
NOT_ON_MEMCACHED = {"clh-spin", "clh-stp", "clh-ls", "hticket-ls", "partitioned", "c-ptl-tkt"}

Lines = dict[str, dict[str, str]]


@cache
def data() -> DataSet:
    with tempfile.TemporaryDirectory() as folder:
        published.unpack_runs(Path(folder))
        return reading.read([Path(folder)])


@cache
def analysis() -> Analysis:
    return analyse(data(), Choices(rule=RULE))


def ours(name: str) -> Lines:
    """Return one of our tables as printed: line, column, text."""
    table = next(table for table in analysis().tables if table.name == name)
    columns = table.columns()[1:]
    return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in table.rows()}


def theirs(file: str, *, locks_above: bool = False, locks_beside: bool = False) -> Lines:
    """A published table, with the project's names for locks. Each line has all its cells."""
    heading, *rows = published.lines(file)
    columns = [lock_names.project_name(column) for column in heading] if locks_above else heading
    return {
        lock_names.project_name(row[0]) if locks_beside else row[0]: dict(
            zip(columns[1:], row[1:], strict=False)
        )
        for row in rows
    }


def differing(mine: Lines, wanted: Lines, but: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """(line, column, published, ours) of all cells that are not the same text."""
    return {
        (line, column, cell, mine.get(line, {}).get(column, "absent"))
        for line, cells in wanted.items()
        if line not in but
        for column, cell in cells.items()
        if mine.get(line, {}).get(column, "absent") != cell
    }


@cache
def sensitive() -> Cells:
    """The lock-sensitive applications of A-64 but memcached, by throughput."""
    sample = data().sample("A-64", "throughput")
    assert sample is not None
    cells = condense(sample)
    found = effect.sensitive(effect.effect(cells, RULE))
    return cells.only([name for name in found if not name.startswith("memcached")])


def with_memcached(good: int, ran: int, *locks: str) -> list[float]:
    """Return the values that a share can have whatever the two applications of memcached did."""
    more = 0 if NOT_ON_MEMCACHED & set(locks) else len(MEMCACHED)
    return [(good + some) / (ran + more) for some in range(more + 1)]


def digits(shares: list[float]) -> set[str]:
    return {text(share, "percent") for share in shares}


# Gain and relative deviation (4.1)


@pytest.mark.parametrize(
    ("file", "name", "known"),
    [
        ("seed_T07_gain_A64.csv", "A-64.throughput.effect", set()),
        # 27.43 % from the runs: "within 1 point of rounding" (9.2).
        (
            "seed_T73_energygain_I48.csv",
            "I-48.tpp.effect",
            {("ferret", "gain_opt", "28", "27")},
        ),
    ],
)
def test_gain(file: str, name: str, known: set[tuple[str, ...]]) -> None:
    mine, wanted = ours(name), theirs(file)
    assert set(wanted) - set(MEMCACHED) == {name for name in mine if "memcached" not in name}
    assert differing(mine, wanted, MEMCACHED) == known


# Loss against the best, gain at the best count: recomputed from these runs, so memcached agrees too


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("calc_lossvsbest_opt_A64.csv", "A-64.throughput.loss-opt"),
        ("calc_optgain_A64.csv", "A-64.throughput.opt-gain"),
    ],
)
def test_loss_and_gain_at_the_best_count(file: str, name: str) -> None:
    mine, wanted = ours(name), theirs(file, locks_above=True)
    assert mine.keys() == wanted.keys()
    assert differing(mine, wanted) == set()


# Shares of applications: exact for all but memcached, which may add two either way


def check_shares(cells: Cells, found: pd.DataFrame, wanted: Lines) -> None:
    ran = {place: cells.at(place).mean.notna().sum() for place in found}
    assert set(wanted) == set(found.index)
    for lock, line in wanted.items():
        for place, cell in line.items():
            of = int(ran[place][lock])
            good = round(found.at[lock, place] * of)
            assert cell in digits(with_memcached(good, of, lock)), (lock, place)


def test_t31_best_a64() -> None:
    cells = sensitive()
    wanted = theirs("seed_T31_best_A64.csv", locks_beside=True)
    check_shares(cells, descriptive.best_share(cells, RULE, made.NONE_LOST), wanted)


def test_t12_harmful() -> None:
    """A-64 only: A-48 and I-20 have no runs here, and those of I-48 are of another mode (9.2)."""
    cells = sensitive()
    wanted = {
        lock: {place: line[f"A64_{place}"] for place in ("max", "opt")}
        for lock, line in theirs("seed_T12_harmful.csv", locks_beside=True).items()
    }
    check_shares(cells, descriptive.harmful_share(cells, RULE), wanted)


# Pairwise matrices


@pytest.mark.parametrize(
    ("file", "place", "shifted"),
    [
        # One cell of the line is lost, so that the others stand under the wrong heads.
        ("seed_T38_pair_opt_A64.csv", "opt", "clh-stp"),
        ("seed_T45_pair_max_A64.csv", "max", ""),
    ],
)
def test_pairs(file: str, place: str, shifted: str) -> None:
    cells = sensitive()
    matrix = pairwise(cells, RULE, place)
    ran = cells.at(place).mean.notna()
    wanted = theirs(file, locks_above=True, locks_beside=True)
    assert len(wanted) == 28
    wanted.pop(shifted, None)
    for lock, printed in wanted.items():
        possible = {}
        for rival in matrix.index:
            if rival != lock:
                common = int((ran[lock] & ran[rival]).sum())
                good = round(matrix.at[lock, rival] * common)
                possible[rival] = with_memcached(good, common, lock, rival)
        assert printed[lock] == ""
        for rival, shares in possible.items():
            assert printed[rival] in digits(shares), (lock, rival)
        # The average over all others, between what memcached can do to it.
        ends = [sum(end(shares) for shares in possible.values()) for end in (min, max)]
        low, high = (100 * end / len(possible) for end in ends)
        assert math.floor(low) <= int(printed["average"]) <= math.ceil(high), lock


# Changes with the node count


@pytest.mark.parametrize(
    ("file", "name", "known"),
    [
        # 36.24 % from the runs, which no rounding makes 37: within 1 point (9.2).
        (
            "seed_T13_change_A64.csv",
            "A-64.throughput.changes",
            {("fmm", "1/2", "37", "36")},
        ),
        # 19.58 % from the runs, printed cut off.
        (
            "seed_T88_energychange_I48.csv",
            "I-48.tpp.changes",
            {("s_raytrace", "2/3", "19", "20")},
        ),
    ],
)
def test_changes(file: str, name: str, known: set[tuple[str, ...]]) -> None:
    mine, wanted = ours(name), theirs(file)
    assert set(wanted) - set(MEMCACHED) <= set(mine)
    assert differing(mine, wanted, MEMCACHED) == known


# Energy against throughput


def test_t16_correlation_i48() -> None:
    """I-48 only: there are no runs of I-20."""
    mine, wanted = ours("I-48.pcc"), theirs("seed_T16_pcc.csv")
    there = {name: {"pcc": cells["I48"]} for name, cells in wanted.items() if cells["I48"] != "-"}
    assert differing(mine, there, MEMCACHED) == set()


def test_every_published_table_has_a_test() -> None:
    """Else one that is added would be taken for reproduced."""
    import ast

    tree = ast.parse(Path(__file__).read_text())
    named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    files = {path.name for path in published.TABLES.glob("*.csv")}
    assert files
    assert files <= named


# Figures that the papers give in their text


def test_t10_best_counts_a64() -> None:
    """19/23/26/11/21 % for 1, 2, 4, 6 and 8 nodes: what memcached's 22 and 22 pairs leave open."""
    found = descriptive.best_counts(sensitive()).share
    pairs = int(sensitive().counts("opt").notna().sum().sum())
    more = len(MEMCACHED) * (28 - len(NOT_ON_MEMCACHED))
    for share, wanted in zip(found, (19, 23, 26, 11, 21), strict=True):
        low, high = (100 * (share * pairs + some) / (pairs + more) for some in (0, more))
        assert math.floor(low) <= wanted <= math.ceil(high)


def test_t11_coverage_a64() -> None:
    wanted = {"min": (39, 0, 15), "max": (73, 29, 50), "mean": (59, 14, 30), "std": (10, 8, 9)}
    mine = ours("A-64.throughput.coverage")
    for column, values in wanted.items():
        for place, value in zip(("one", "max", "opt"), values, strict=True):
            assert abs(int(mine[place][column]) - value) <= 1, (column, place)


def test_inversions_are_far_fewer_than_changes() -> None:
    """9 % instead of 97 % for s_raytrace_ll (4.3)."""
    line = ours("A-64.throughput.changes")["s_raytrace_ll"]
    assert (line["1/2/4/8"], line["reversed"]) == ("97", "9")


def test_latency_grows_more_than_time() -> None:
    """x3.4 and x24.1 from one node to all, x3.5 and x22.2 from the best (4.5, from these runs)."""
    mine = ours("A-64.latency-growth")
    assert mine["one to max"] == {"time": "3.43", "latency": "24.1"}
    assert mine["opt to max"] == {"time": "3.52", "latency": "22.2"}


def test_validation_counts() -> None:
    """The public runs say manual is better for 23, 15, 25 and 15 of 28 locks (2.4)."""
    mine = ours("validation.validation")
    assert [cells["manual_better"] for cells in mine.values()] == ["23", "15", "25", "15"]
    assert [cells["interposed_better"] for cells in mine.values()] == ["5", "13", "3", "13"]


def test_changes_skip_what_was_not_run() -> None:
    cells = sensitive()
    assert changes.usual_counts(cells) == [1, 2, 4, 8]
    assert ours("A-64.throughput.changes")["memcached-new"]["4/8"] == MISSING
