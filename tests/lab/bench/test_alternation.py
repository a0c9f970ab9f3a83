"""The comparison of two locks for `bench tune` by alternating runs of a program."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.stats.sequential import interval
from lockwright_lab.bench.alternation import OPEN, REFUTED, SAME, SHOWN, PairRatio, alternate
from lockwright_lab.bench.real_program import RealProgram, real_program
from lockwright_lab.study.campaign.local_machine import Folders
from lockwright_lab.study.program.entry import Metric, Program, Server

RATE = Metric("regex", r"rate: (\d+)", "output", "ops", "higher")
SCRIPT = """
test -d {work}/fresh && rmdir {work}/fresh || exit 1
case $LD_PRELOAD in *-futex.so) n=2;; *) n=1;; esac
echo "rate: $((n * 1000 + $$ % 89))"
"""
PICKY = Program(
    "picky",
    ("sh", "{work}/rate.sh"),
    RATE,
    files={"rate.sh": SCRIPT},
    before=("mkdir", "{work}/fresh"),
)


@pytest.fixture
def picky(tmp_path: Path) -> Iterator[RealProgram]:
    """A program that runs twice as well under futex, and needs a new directory for each run."""
    with real_program(PICKY, 2, 1.0, Folders(tmp_path / "cache", tmp_path / "work")) as made:
        yield made
    assert not list((tmp_path / "work").iterdir()), "files of the program are left"


def test_a_lock_is_within_five_per_cent_or_not(picky: RealProgram) -> None:
    """Either is shown after few of many pairs; a lock and itself need none."""
    alike = alternate(picky, "ttas", "pthread", 1000, 10)
    assert alike.within == SHOWN
    assert 0.9 < alike.ratio < 1.1
    assert 3 <= alike.pairs < 200
    worse = alternate(picky, "ttas", "futex", 1000, 10)
    assert worse.within == REFUTED
    assert 0.4 < worse.ratio < 0.6
    better = alternate(picky, "futex", "ttas", 1000, 10)
    assert better.within == SHOWN
    assert better.low > 1
    assert alternate(picky, "futex", "futex", 1000, 10) == SAME


def test_few_pairs_show_nothing(picky: RealProgram) -> None:
    few = alternate(picky, "ttas", "pthread", 2, 10)
    assert (few.within, few.pairs) == (OPEN, 2)
    broken = RealProgram(**{**vars(picky), "metric": "never"})
    assert alternate(broken, "ttas", "pthread", 2, 10).pairs == 0


def test_an_interval_around_the_limit_shows_nothing() -> None:
    assert PairRatio(1.0, 0.951, 1.1, 9).within == SHOWN
    assert PairRatio(0.9, 0.8, 0.949, 9).within == REFUTED
    assert PairRatio(1.2, 0.9, 1.6, 9).within == OPEN
    assert PairRatio.from_logarithm(interval([0.1])).within == OPEN


def test_a_program_that_is_more_than_one_command_is_refused(tmp_path: Path) -> None:
    """Neither a server nor a figure with a reader of its own can be passed to compare and tune."""
    served = Program("served", ("true",), RATE, server=Server(("true", "{port}")))
    with_reader = Program("with-reader", ("true",), Metric("sysbench", "", "output", "ms", "lower"))
    for program, message in (
        (served, "more than one command"),
        (with_reader, "--metric cannot read"),
    ):
        with (
            pytest.raises(LockwrightError, match=message),
            real_program(program, 2, 1.0, Folders(tmp_path, tmp_path)),
        ):
            pass
