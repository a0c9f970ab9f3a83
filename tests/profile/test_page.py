"""The report of a profile: one whole file, in which a reader finds every mutex and its figures."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lockwright.advise import advise
from lockwright.base.errors import LockwrightError
from lockwright.export import page
from lockwright.export.page import script_data
from lockwright.profile.record import Distribution, Process, Profile
from support.html import Page
from support.made_profile import made_profile


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r"^const DATA = (.*);$", text, re.MULTILINE)
    assert found
    whole: dict[str, Any] = json.loads(found[1])
    return whole


@pytest.fixture(scope="module")
def profile() -> Profile:
    return made_profile()


@pytest.fixture(scope="module")
def text(profile: Profile) -> str:
    return page.render(profile)


def test_every_mutex_is_in_it(profile: Profile, text: str) -> None:
    read = Page(text)
    assert read.sources == [], "the file needs nothing else"
    assert len(set(read.ids)) == len(read.ids)
    for place, mutex in enumerate(profile.mutexes):
        assert mutex.name in read.words
        assert f"mutex-{place}" in read.ids
    assert {link[1:] for link in read.links} <= set(read.ids)


def test_figures_are_those_of_the_profile(profile: Profile, text: str) -> None:
    message = Page(text).words
    assert "Threads waited 2.05 s in all for 10 mutexes: 12 % of the time" in message
    assert "300k by 8 threads; 90k found it held (30 %)" in message
    assert "20k waits, 21k signals, 4,000 futile wake-ups" in message
    assert "9 at most, 8.4 on average" in message
    assert "130 created, 4 destroyed, 128 at one time" in message
    assert "not measurable here" in message
    assert profile.mutexes[0].lost == pytest.approx(1.97e9, rel=0.01)


def test_the_advice_is_in_it(profile: Profile, text: str) -> None:
    advised = advise(profile)
    message = Page(text).words
    assert advised.sentence in message
    for diagnosis in advised.diagnoses:
        answer = "yes" if diagnosis.fired else "no" if diagnosis.measurable else "not measurable"
        assert f"{diagnosis.title} : {answer}" in message
    assert all(step.question in message for step in advised.steps)
    assert all(f"{each.lock} {each.reason}" in message for each in advised.shortlist)


def test_what_is_drawn_adds_up(profile: Profile, text: str) -> None:
    data = data_of(text)
    for place, mutex in enumerate(profile.mutexes):
        waited = sum(each[1] for each in data["stacks"]["stacks"] if each[0] == place)
        assert waited == pytest.approx(mutex.lost, rel=1e-6)
        blocked = sum(each[3] for each in data["blocks"] if each[0] == place)
        assert blocked == pytest.approx(sum(each.waited for each in mutex.blocks))
    moments = [each for thread in data["timeline"]["threads"] for each in thread["moments"]]
    assert len(moments) == len(profile.timeline)
    assert {thread["name"] for thread in data["timeline"]["threads"]} >= {"worker 0", "thread 7"}


def test_a_mutex_whose_stacks_are_not_known_keeps_its_width(profile: Profile) -> None:
    blind = replace(profile.mutexes[0], sites=())
    found = script_data.stacks(replace(profile, mutexes=(blind,)))
    assert found["stacks"] == [[0, blind.lost, []]]


def test_threads_of_one_name_have_numbers(profile: Profile) -> None:
    same = replace(profile, thread_names={"0": "pool", "1": "pool", "2": "main"})
    names = [thread["name"] for thread in script_data.timeline(same)["threads"]]
    assert names[:4] == ["pool 0", "pool 1", "main", "thread 3"]


def test_bins_keep_the_weight_and_the_place() -> None:
    bins = script_data.binned(((1.0, 2.0), (1000.0, 6.0), (1060.0, 1.0), (1e6, 1.0)))
    assert sum(bins.values()) == pytest.approx(10)
    assert bins[0] == pytest.approx(2)
    assert bins[30] == pytest.approx(7)
    assert bins[60] == pytest.approx(1)
    wide = script_data.binned(((100.0, 1.0), (200.0, 0.0)))
    assert len(wide) == 4
    assert sum(wide.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"mutexes": (), "timeline": ()}, "took no mutex that can be profiled"),
        ({"partial": "the program was killed"}, "the program was killed"),
    ],
)
def test_what_is_not_there_is_said(profile: Profile, part: dict[str, Any], sentence: str) -> None:
    assert sentence in Page(page.render(replace(profile, **part))).words


def test_mutexes_that_nobody_waited_for(profile: Profile) -> None:
    quiet = tuple(
        replace(each, contended=0, waiting=Distribution(), sites=(), blocks=(), arrivals=())
        for each in profile.mutexes
    )
    message = Page(page.render(replace(profile, mutexes=quiet, process=Process()))).words
    assert "No thread waited for any of the 10 mutexes taken." in message


def test_names_are_no_markup(profile: Profile) -> None:
    evil = replace(profile.mutexes[0], name="</script><b>bold</b>")
    text = page.render(replace(profile, mutexes=(evil,), timeline=()))
    assert "<b>bold</b>" not in text
    assert "</script><b>" not in text
    assert "</script><b>bold</b>" in Page(text).words


def test_many_mutexes_make_no_endless_page(profile: Profile) -> None:
    many = replace(profile, mutexes=profile.mutexes * 200, timeline=())
    text = page.render(many)
    assert "1,500 more, for which threads waited" in Page(text).words
    assert len(text) < len(page.render(profile)) + 2_000_000


def test_a_place_that_cannot_be_written_is_named(profile: Profile, tmp_path: Path) -> None:
    with pytest.raises(LockwrightError, match="cannot write -o"):
        page.write(profile, tmp_path / "none" / "report.html")
