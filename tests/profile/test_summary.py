"""The line about the process, and the names of well-known locks."""

import dataclasses

from lockwright.profile import summary
from lockwright.profile.frames import Frame
from lockwright.profile.mutex_lines import name_of
from lockwright.profile.record import OBJECT, Place
from support.made_profile import made_profile


def sentence_of(seen: int, most: int) -> str:
    profile = made_profile()
    process = dataclasses.replace(profile.process, threads_seen=seen, threads_most=most)
    return summary.sentence(dataclasses.replace(profile, process=process))


def test_threads_that_follow_each_other_are_counted() -> None:
    assert ", 101 threads, at most 2 at once, on 2 processors," in sentence_of(101, 2)
    assert ", 9 threads on 2 processors," in sentence_of(8, 9)
    assert ", 9 threads on 2 processors," in sentence_of(0, 9)


def test_the_interpreter_lock_of_python_has_a_name() -> None:
    place = Place(OBJECT, Frame("/usr/bin/python3.11", 0x1234, "_PyRuntime", 440))
    assert name_of(place, True) == "Python's interpreter lock (_PyRuntime+440)"
