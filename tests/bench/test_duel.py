"""Tests of `bench tune`: its statements about two locks follow from a program's runs under them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.bench import duel
from lockwright.bench.duel import OPEN, REFUTED, SHOWN, Standing
from lockwright.bench.real_program import RealProgram, real_program
from lockwright.stats.sequential import interval
from lockwright.study.campaign.site import Folders
from lockwright.study.program.entry import Metric, Program, Server

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
    with real_program(PICKY, 2, 1.0, Folders(tmp_path / "cache", tmp_path / "work")) as one:
        yield one
    assert not list((tmp_path / "work").iterdir()), "files of the program are left"


def test_a_lock_is_within_five_per_cent_or_not(picky: RealProgram) -> None:
    """Either is shown after few of many pairs; a lock beside itself needs none."""
    alike = duel.duel(picky, "ttas", "pthread", 1000, 10)
    assert alike.within == SHOWN
    assert 0.9 < alike.ratio < 1.1
    assert 3 <= alike.pairs < 200
    worse = duel.duel(picky, "ttas", "futex", 1000, 10)
    assert worse.within == REFUTED
    assert 0.4 < worse.ratio < 0.6
    better = duel.duel(picky, "futex", "ttas", 1000, 10)
    assert better.within == SHOWN
    assert better.low > 1
    assert duel.duel(picky, "futex", "futex", 1000, 10) == duel.SAME


def test_few_pairs_show_nothing(picky: RealProgram) -> None:
    """And runs that do not come to their end are no pairs."""
    few = duel.duel(picky, "ttas", "pthread", 2, 10)
    assert (few.within, few.pairs) == (OPEN, 2)
    broken = RealProgram(**{**vars(picky), "metric": "never"})
    assert duel.duel(broken, "ttas", "pthread", 2, 10).pairs == 0


def test_only_a_whole_interval_shows_something() -> None:
    """Above 0.95, or below it; one around it leaves it open."""
    assert Standing(1.0, 0.951, 1.1, 9).within == SHOWN
    assert Standing(0.9, 0.8, 0.949, 9).within == REFUTED
    assert Standing(1.2, 0.9, 1.6, 9).within == OPEN
    assert Standing.of(interval([0.1])).within == OPEN


def test_a_program_that_is_more_than_one_command_is_refused(tmp_path: Path) -> None:
    """A server cannot be told to compare and tune, nor a figure that a reader of its own finds."""
    served = Program("served", ("true",), RATE, server=Server(("true",)))
    read = Program("read", ("true",), Metric("sysbench", "", "output", "ms", "lower"))
    for program, what in ((served, "more than one command"), (read, "not one that --metric reads")):
        with (
            pytest.raises(LockwrightError, match=what),
            real_program(program, 2, 1.0, Folders(tmp_path, tmp_path)),
        ):
            pass
