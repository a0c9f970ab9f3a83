"""The time lost has one definition, and every command prints the same figure of one profile."""

import dataclasses
import io
import json
import re
from pathlib import Path

import pytest
from lockwright.advise import advise, brief, show
from lockwright.base import terminal
from lockwright.export import page
from lockwright.profile import summary
from lockwright.profile.live import State, share_of_interval
from lockwright.profile.record import Profile
from lockwright.profile.time_lost import OF_WHICH_TIME, lost_share
from lockwright.profile.top import program_line
from rich.console import Console
from support.html import Page
from support.made_profile import made_profile

from . import examples
from .examples import SECOND

OF = r"of the time in which (?:threads|they) ran or waited"
SHARE = re.compile(rf"(<?[\d.]+ %) {OF}|{OF}: (<?[\d.]+ %)")


def idle_threads(waited: float) -> Profile:
    """Return the profile of two busy threads and 22 that sleep; two seconds of processor time."""
    mutex = examples.mutex(contended=10, waited=waited * SECOND, threads=2)
    return examples.profile(mutex, threads_mean=24.0, threads_most=24, runnable=2.0)


def printed(profile: Profile, *, every: bool) -> str:
    stream = io.StringIO()
    advice = advise(profile, registry=examples.LOCKS)
    if every:
        show.show(terminal.secondary(stream), profile, advice)
    else:
        brief.show(terminal.secondary(stream), profile, advice, Path("profile.json"))
    return stream.getvalue()


@pytest.mark.parametrize(("waited", "share"), [(0.04, "2.0 %"), (1.0, "33 %"), (4.06, "67 %")])
def test_profile_advise_and_page_print_the_same_share(waited: float, share: str) -> None:
    profile = idle_threads(waited)
    texts = {
        "profile": summary.sentence(profile),
        "page": Page(page.render(profile)).words,
        "advise": printed(profile, every=False),
        "advise --all": printed(profile, every=True),
    }
    for name, text in texts.items():
        first = SHARE.search(text)
        assert first is not None, (name, text)
        assert (first[1] or first[2]) == share, (name, text)


@pytest.mark.parametrize("waited", [0.04, 1.0, 4.06])
def test_the_json_files_have_the_same_share(waited: float) -> None:
    profile = idle_threads(waited)
    share = waited / (waited + 2)
    stored = json.loads(profile.to_json())
    assert stored["lost"] == pytest.approx(waited * SECOND)
    assert stored["lost_share"] == pytest.approx(share)
    assert Profile.from_json(profile.to_json()) == profile
    advice = json.loads(advise(profile, registry=examples.LOCKS).to_json())
    assert advice["lost"] == stored["lost"]
    assert advice["lost_share"] == stored["lost_share"] == advice["sensitivity"][0]["value"]


def test_threads_that_sleep_do_not_lower_the_share() -> None:
    few = examples.mutex(contended=10, waited=SECOND, threads=2)
    assert examples.profile(few).lost_share == idle_threads(1.0).lost_share


def test_top_uses_the_same_share() -> None:
    """In an interval threads waited for a second and used two seconds of processor time."""
    share = share_of_interval(SECOND, 7 * SECOND, 9 * SECOND)
    assert share == idle_threads(1.0).lost_share
    state = State(SECOND, 3, 1, SECOND, share, ())
    assert program_line(state).endswith(f"1 s lost a second (33 % {OF_WHICH_TIME})")
    assert share_of_interval(SECOND, None, 9 * SECOND) is None
    assert program_line(State(SECOND, 3, 1, SECOND, None, ())).endswith("1 s lost a second")


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_a_narrow_terminal_has_the_call_sites_below_the_table(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """No cell of the figures is cut, and no name is divided."""
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=columns, color_system=None)
    summary.show(console, made_profile())
    lines = stream.getvalue().splitlines()[1:]
    assert ("waits most in" in lines[0]) == (columns == 200)
    below = [line for line in lines if ": waits most in " in line]
    assert bool(below) == (columns != 200)
    assert "Table::expire (table.cpp:150)" in " ".join(" ".join(lines).split())
    if columns == 100:
        assert all(len(line) <= columns for line in lines)


def test_each_bottleneck_is_named_with_its_mutex() -> None:
    loop = examples.mutex(entries=1000, failed_trylocks=300_000)
    calls = examples.mutex(entries=3e6)
    both = [dataclasses.replace(each, name=name) for each, name in ((loop, "a"), (calls, "b"))]
    sentence = advise(examples.profile(*both, lock_calls=3e6), registry=examples.LOCKS).sentence
    assert (
        "trylock contention at a, many uncontended acquisitions at b; no lock is named" in sentence
    )
    one = dataclasses.replace(calls, name="c", failed_trylocks=int(4e6))
    sentence = advise(examples.profile(one, lock_calls=3e6), registry=examples.LOCKS).sentence
    assert "trylock contention and many uncontended acquisitions at c; no lock is named" in sentence


def test_the_limit_of_a_figure_has_no_second_unit() -> None:
    text = printed(examples.profile(examples.mutex(entries=3e6), lock_calls=3e6), every=False)
    assert "acquisitions: 1,500,000 a second of processor time; relevant from 1,000,000\n" in text


def test_without_activity_nothing_is_lost() -> None:
    assert lost_share(0, 0, 0) == 0
