"""The JSON file of a profile: its keys are documented, and files of former versions are read."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from lockwright.advise import advise
from lockwright.export import page
from lockwright.profile import summary
from lockwright.profile.record import Profile
from lockwright.profile.waiting import Account, Holder, Role, Times, WaitObject, WaitSite
from support.made_profile import made_profile

PAGE = Path(__file__).parents[2] / "docs" / "profile-figures.md"


@pytest.mark.parametrize(
    ("row", "classes"),
    [("account", (Account, Role, Times)), ("waits", (WaitObject, WaitSite, Holder))],
)
def test_keys_are_documented(row: str, classes: tuple[Any, ...]) -> None:
    (text,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| {row} |"))
    names = {field.name for each in classes for field in dataclasses.fields(each)}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_a_profile_of_a_former_version_is_read() -> None:
    """It has no account, no other objects than mutexes, and no reader-writer locks."""
    made = made_profile()
    document = json.loads(made.to_json())
    for key in ("account", "waits", "processes", "chains", "threads", "rwlocks", "is_unseen"):
        del document[key]
    for mutex in document["mutexes"]:
        for key in ("slept", "users", "holders"):
            del mutex[key]
        for site in mutex["sites"]:
            del site["is_left_locked"]
    profile = Profile.from_json(json.dumps(document))
    assert profile.lost == made.lost
    assert not profile.account.all.lived
    assert advise(profile).sentence
    assert summary.sentence(profile) in page.render(profile)
