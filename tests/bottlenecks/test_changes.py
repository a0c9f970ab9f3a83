"""The programs have the changes of docs/lab/results/2026-11-24-bottlenecks.md as options."""

import os
import re

import pytest
from support import locate
from support.processes import captured

PROGRAMS = {
    "high_contention": "--section 0.5 --shards 8",
    "extreme_contention": "--section 0.5 --shards 8",
    "trylock_contention": "--section 0.5 --shards 8 --lock 1",
    "uncontended_acquisitions": "--batch 8 --atomic 1 --shards 8",
    "holder_preemption": "--section 0.5 --shards 8 --threads 2",
    "hand_over": "--poll 1",
    "page_clearing": "--parallel 1 --table 1024",
    "fault_handler": "--reuse 1 --shared 1",
    "memory_contention": "--memory 0.004 --shards 8 --atomic 1",
}
OPTIONS = [
    (name, *each.split())
    for name, options in PROGRAMS.items()
    for each in re.findall(r"--\S+ \S+", options)
]


@pytest.mark.parametrize(("name", "option", "value"), OPTIONS)
def test_a_changed_program_does_its_work(name: str, option: str, value: str) -> None:
    done = captured(
        [locate.program("bottlenecks", name), option, value],
        env=os.environ | {"WORK_TIMES": "0.05"},
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"rate: [\d.e+]+\n", done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_option_is_refused(name: str) -> None:
    for words in (["--unknown", "1"], PROGRAMS[name].split()[:1]):
        done = captured([locate.program("bottlenecks", name), *words])
        assert done.returncode == 2
        assert done.stderr.startswith("options, each with a number: --")
