"""Where waiting ends, of programs whose threads wait for each other in chains of known end."""

from dataclasses import replace
from pathlib import Path

import pytest
from lockwright.export import page
from lockwright.profile import chain_lines
from lockwright.profile.chain import Chain, EndState, Link
from lockwright.profile.record import Distribution, Mutex
from support import locate, profiling
from support.html import Page
from support.made_profile import made_profile

RUNS: set[EndState] = {"running", "runnable"}
THREE = (("mutex", "first"), ("mutex", "second"), ("mutex", "third"))


@pytest.mark.alone("a sampled end of a chain needs a processor when it is sampled")
@locate.native
@pytest.mark.parametrize(
    ("case", "role", "states", "call", "path"),
    [
        ("computes", "hold_and_compute", RUNS, "", THREE),
        ("sleeps", "hold_and_sleep", {"sleeping"}, "nanosleep", THREE),
        ("queue", "hold_table", RUNS, "", (("condition", "jobs"), ("mutex", "table"))),
        ("book", "write_book", {"sleeping"}, "nanosleep", (("rwlock", "book (readers)"),)),
        ("meeting", "come_late", RUNS, "", (("barrier", "meeting"),)),
    ],
)
def test_the_end_of_a_chain(
    case: str,
    role: str,
    states: set[EndState],
    call: str,
    path: tuple[tuple[str, str], ...],
    tmp_path: Path,
) -> None:
    profile, answer = profiling.profile(tmp_path, locate.program("profile", "chains"), case)
    ends = [each for each in profile.chains if each.state in states and each.call.endswith(call)]
    ends = [each for each in ends if each.role.endswith(f"::{role}")]
    # Else a thread was about to continue, or it was the first wait for an object of unknown waker.
    assert sum(each.share for each in ends) > 0.85, profile.chains
    # One sample may find the thread in a call at the edge of its section.
    there = [each for each in ends if each.path[0].kind == "join" or role in each.site]
    assert sum(each.share for each in there) > 0.85, profile.chains
    # Each object of the path is waited for; the threads that wait for the end of one have it too.
    found = {tuple((link.kind, link.name) for link in each.path) for each in ends}
    for begin in range(len(path)):
        assert path[begin:] in found
    assert any(each[0][0] == "join" and each[1:] == path for each in found)
    assert f"in role {ends[0].role}" in answer.stderr
    assert ("spins" in answer.stderr) == (states == RUNS and path[-1][0] == "mutex")


MADE = Chain(
    share=0.42,
    waited=4.2e9,
    samples=84,
    path=(Link("condition", "jobs"), Link("mutex", "table")),
    role="worker",
    site="compress (zip.cpp:7)",
    state="running",
)


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        (
            MADE,
            "42 % of all waiting ends at `compress (zip.cpp:7)` in role worker, through condition"
            " variable `jobs`, then mutex `table`",
        ),
        (
            replace(MADE, state="sleeping", call="read", site="", path=MADE.path[:1]),
            "42 % of all waiting ends in role worker, asleep in read, through condition variable"
            " `jobs`",
        ),
        (
            replace(MADE, path=(Link("join", "threads joined in run"), MADE.path[1])),
            "42 % of all waiting ends at `compress (zip.cpp:7)` in role worker, through threads"
            " joined in run, then mutex `table`",
        ),
        (
            replace(MADE, state="handover", site=""),
            "42 % of all waiting is for mutex `table` after its release",
        ),
    ],
)
def test_sentences(chain: Chain, expected: str) -> None:
    little = replace(MADE, share=0.04, role="other")
    unknown = replace(MADE, share=0.54, state="unknown", role="", site="")
    assert said_of(chain, little, unknown) == [expected]
    assert said_of(replace(chain, samples=1)) == []


def said_of(*chains: Chain, mutexes: tuple[Mutex, ...] = ()) -> list[str]:
    return chain_lines.sentences(replace(made_profile(), chains=chains, mutexes=mutexes), 3)


def test_a_holder_that_runs_for_long_may_spin() -> None:
    holding = Distribution(count=10, total=2e7, buckets=((2e6, 10),))
    mutex = replace(made_profile().mutexes[0], name="table", holding=holding)
    (sentence,) = said_of(MADE, mutexes=(mutex,))
    assert sentence.endswith(", held for 2 ms while it runs: it computes, or spins for another")
    assert "spins" not in said_of(replace(MADE, state="sleeping"), mutexes=(mutex,))[0]


def test_places_are_summed_and_a_plain_join_is_left_out() -> None:
    join = replace(MADE, path=(Link("join", "threads joined in main"),), site="", share=0.5)
    halves = [replace(MADE, share=0.2, path=MADE.path[begin:]) for begin in (0, 1)]
    (sentence,) = said_of(join, *halves)
    assert sentence.startswith("40 % of all waiting ends at `compress")


def test_the_page_has_the_chains() -> None:
    made = made_profile()
    times = replace(made.account.all, threads=1, lived=1.0, sleeping=1.0)
    profile = replace(made, account=replace(made.account, all=times), chains=(MADE,))
    words = Page(page.render(profile)).words
    assert "42 %" in words
    assert "condition variable `jobs`, then mutex `table`" in words
