"""The time lost has one definition, and every command prints the same figure of one profile."""

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
from support.html import Page

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


def test_without_activity_nothing_is_lost() -> None:
    assert lost_share(0, 0, 0) == 0
