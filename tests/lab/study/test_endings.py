"""A study of endings names each run that a lock has spoilt, and why it did not end."""

import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from lockwright.experiment import LEFT_OUT, Run
from lockwright.experiment.schedule import Schedule
from lockwright.preload import locks
from lockwright.run import record
from lockwright_lab.study.campaign import plan as plans
from lockwright_lab.study.campaign.experiment import configuration_of, declare, runs_for
from lockwright_lab.study.campaign.local_machine import Folders, LocalMachine
from lockwright_lab.study.campaign.plan import Configuration, Plan
from lockwright_lab.study.campaign.session import bad_endings
from lockwright_lab.study.program import catalogue, placeholders
from lockwright_lab.study.program.trial import CRASHED, HUNG, SLOW, WRONG

PLAN = """
endings = true
locks = ["pthread", "mcs-stp", "ticket"]
threads_per_processor = [1, 8]
runs = 1
most_runs = 1
"""


@pytest.fixture(autouse=True)
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})


def read(folder: Path, text: str) -> Plan:
    (folder / "plan.toml").write_text(PLAN + text)
    return plans.read(folder / "plan.toml", locks.registry())


def run(folder: Path, text: str) -> Run:
    """The run of the plan's only program under a lock."""
    plan = read(folder, text)
    one = Configuration(plan.members[0].program.name, "mcs-stp", 2, 0, "none")
    with LocalMachine("here", plan, Folders(folder / "cache", folder / "work")) as local:
        probe = local.probe(one.setting)
        assert probe.finished
        return local.run(one, 1, probe)


@pytest.mark.parametrize(
    ("under_the_lock", "more", "outcome", "note"),
    [
        ("pass", "", record.FINISHED, ""),
        ("time.sleep(1000)", "timeout = 3", HUNG, "took more than 3 s"),
        # What Python waits for and takes after each sleep is a mutex.
        ("while True: time.sleep(0.01)", "timeout = 3", SLOW, "took more than 3 s"),
        ("sys.exit('no more')", "", record.FAILED, "exit status 1: no more"),
        ("os.abort()", "", CRASHED, "SIGABRT"),
        ("print('other')", "check = {same = ['output']}", WRONG, "output is not"),
    ],
)
def test_what_a_lock_spoils_is_told(
    tmp_path: Path, under_the_lock: str, more: str, outcome: str, note: str
) -> None:
    code = f"import os, sys, time\nif 'mcs-stp' in os.environ['LD_PRELOAD']:\n  {under_the_lock}"
    result = run(
        tmp_path,
        f"[[program]]\nname = 'spoilt'\ncommand = ['{sys.executable}', '-c', '''{code}''']\n{more}",
    )
    assert (result.ended, note in result.note) == (outcome, True), result
    assert result.meters["acquisitions"] > 0


def test_a_run_that_took_no_lock_has_failed(tmp_path: Path) -> None:
    shell = f"case '{{lock}}' in *mcs-stp*) ;; *) {{lock}} {sys.executable} -c 0 ;; esac"
    result = run(tmp_path, f'[[program]]\nname = "without"\ncommand = "{shell}"\n')
    assert (result.ended, "took no lock" in result.note) == (record.FAILED, True), result


FETCH = "import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/').read()"


def served(under_the_lock: str) -> str:
    """A server that does something else under a lock than under the C library's mutex."""
    return f"""
[[program]]
name = "served"
command = ['{sys.executable}', '-c', '''{FETCH}''']
[program.server]
command = ['{sys.executable}', '-c', '''
import os, sys
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, test
handler = SimpleHTTPRequestHandler
if 'mcs-stp' in os.environ['LD_PRELOAD']:
    {under_the_lock}
test(handler, port={{port}}, bind='127.0.0.1')
''']
"""


def test_a_port_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server gets another one."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        free = placeholders.free_port
        tried: list[int] = []

        def first_taken() -> int:
            tried.append(free() if len(tried) % 2 else taken.getsockname()[1])
            return tried[-1]

        monkeypatch.setattr(placeholders, "free_port", first_taken)
        taken.shutdown(socket.SHUT_RDWR)  # Takes no connection, and keeps the port.
        result = run(tmp_path, served("pass"))
    assert result.ended == record.FINISHED, result
    assert len(tried) == 4, "of each run the second port was free"


@pytest.mark.parametrize(
    ("under_the_lock", "words"),
    [
        (
            "sys.exit('no port for me; good-bye')",
            ["the server ended at once", "no port for me"],
        ),
        (
            "handler = BaseHTTPRequestHandler",
            ["HTTP Error 501", "the server's last lines: ", "code 501, message"],
        ),
    ],
)
def test_a_server_has_the_last_word(tmp_path: Path, under_the_lock: str, words: list[str]) -> None:
    """The server ends at once, or is of no use to its client."""
    result = run(tmp_path, served(under_the_lock))
    assert result.ended == record.FAILED
    assert all(word in result.note for word in words), result.note


def test_only_spinning_locks_with_more_threads_than_processors_may_be_slow(tmp_path: Path) -> None:
    """So they come last; all else that did not finish is named."""
    plan = read(tmp_path, "programs = ['pigz']")
    assert plan.threads == (2, 16)
    line, made = Schedule(declare(plan), runs_for(plan, [], "")), []
    while (slot := line.next()) is not None:
        made.append(slot)
        line.done(Run(slot=slot))
    assert len(made) == 6
    assert configuration_of(declare(plan), made[-1]) == Configuration(
        "pigz", "ticket", 16, 0, "none"
    )
    for outcome, named in (
        (record.FINISHED, []),
        (LEFT_OUT, []),
        (SLOW, made[:-1]),
        (HUNG, made),
        (record.FAILED, made),
        (WRONG, made),
        (CRASHED, made),
    ):
        runs = [Run(outcome, note="why", slot=slot) for slot in made]
        lines = [f"{configuration_of(declare(plan), slot)}: {outcome}, why" for slot in named]
        assert bad_endings(plan, runs) == lines
        assert bad_endings(replace(plan, endings=False), runs) == []


def test_all_programs_are_those_of_the_catalogue(tmp_path: Path) -> None:
    plan = read(tmp_path, "programs = 'all'")
    assert [each.program.name for each in plan.members] == catalogue.names()
    assert plan.everything
