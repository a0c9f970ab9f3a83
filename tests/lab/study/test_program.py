"""Entries of programs: what is read from TOML, what is refused, and how figures are read."""

import tomllib
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright_lab.study.program import catalogue, entry, inputs, readers

SMALL = 'name = "a"\ncommand = ["a"]\n'


def read(text: str) -> entry.Program:
    return entry.read(tomllib.loads(text), "plan.toml")


@pytest.mark.parametrize("name", catalogue.names())
def test_every_entry_of_the_catalogue_is_understood(name: str) -> None:
    """And says what a user needs to have it, and what it is about."""
    program = catalogue.find(name)
    assert program.about
    assert program.category
    assert program.packages or program.install
    assert program.needs


def test_an_entry_is_as_its_table_says() -> None:
    """Without more, the program itself is under the lock and its time is measured."""
    program = read(SMALL)
    assert program.command == ("a",)
    assert (program.metric.reader, program.metric.unit, program.metric.better) == (
        "wall",
        "s",
        "lower",
    )
    assert program.locked == (("a",),)
    served = read(SMALL + '[server]\ncommand = "exec {lock} b {port}"\n[metric]\nread = "wrk"\n')
    assert served.locked == ("exec {lock} b {port}",)
    assert (served.metric.unit, served.metric.better) == ("req/s", "higher")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('name = "a"', ["command", "is missing"]),
        ('name = "A b"\ncommand = ["a"]', ["name: is 'A b', not a text matching"]),
        ('name = "a"\ncommand = "rm x; a"', ["command", "{lock}"]),
        ('name = "a"\ncommand = []', ["command: is [], not a list of length >= 1"]),
        ('name = "a"\ncommand = 3', ["command", "is 3"]),
        (SMALL + "comand = 3", ["comand", "did you mean 'command'"]),
        (SMALL + "timeout = -1", ["timeout: is -1, not a number >= 0.001"]),
        (SMALL + "timeout = nan", ["timeout: is NaN, not a number"]),
        (SMALL + "least_threads = true", ["least_threads", "whole number"]),
        (SMALL + "least_threads = 4\nmost_threads = 2", ["least_threads", "above"]),
        (SMALL + 'under = "server"', ["under", "no server"]),
        (SMALL + '[metric]\nread = "wkr"', ["metric: read", "did you mean 'wrk'"]),
        (SMALL + '[metric]\nread = "regex"\npattern = "("\nunit = "s"\nbetter = "lower"',
         ["metric: pattern", "regular expression"]),
        (SMALL + '[metric]\nread = "regex"\npattern = "(a)(b)"\nunit = "s"\nbetter = "lower"',
         ["metric: pattern", "2 groups"]),
        (SMALL + '[metric]\nread = "json"\npath = "a"\nunit = "s"', ["metric: better", "missing"]),
        (SMALL + '[check]\nmatches = ["("]', ["check: matches", "regular expression"]),
        (SMALL + '[server]\ncommand = ["b"]', ["server", "ready"]),
        (SMALL + '[[input]]\nname = "../x"\nkind = "text"', ["input[1]: name", "without"]),
        (SMALL + '[[input]]\nname = "x"\nkind = "txt"', ["input[1]: kind", "'text'"]),
        (SMALL + '[[input]]\nname = "x"\nkind = "text"\nfiles = 2', ["files", "megabytes"]),
        (SMALL + "[without]\nttas = 3", ["without.ttas", "is 3, not a text"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_and_key(text: str, parts: list[str]) -> None:
    """The line also says what to do."""
    with pytest.raises(LockwrightError) as caught:
        read(text)
    line = caught.value.line()
    assert line.startswith("lockwright: plan.toml: ")
    for part in parts:
        assert part in line


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("wrk", "Running\nRequests/sec:  10.50\nTransfer/sec: 1MB\n", 10.5),
        ("wrk-p99", "     50%    1.00ms\n     99%   26.50ms\n", 0.0265),
        ("sysbench", "    transactions:   300    (150.25 per sec.)\n", 150.25),
        ("sysbench", "    events per second:  7.5\n", 7.5),
        ("sysbench", "    total time:   2.0s\n    total number of events: 9\n", 4.5),
        ("db_bench", "a : 3 micros/op 20 ops/sec; x\nb : 3 micros/op 30 ops/sec\n", 30),
        ("redis-benchmark", "SET: 5000.00 requests per second, p50=0.1 msec\n", 5000),
        ("ycsb", "[OVERALL], Throughput(ops/sec), 1.5E3\n", 1500),
        ("wrk", "Socket errors\n", None),
    ],
)
def test_built_in_readers_find_the_figure(name: str, text: str, value: float | None) -> None:
    """They find it in the tools' real output, and nothing where there is none."""
    found = readers.READERS[name].find(text)
    assert readers.select_number(found, 0, "last") == value


def test_values_are_left_out_and_taken_together() -> None:
    """The capture phase of an entry says which values are left out and which are combined."""
    values = ["1", "2", "3", "7"]
    taken = {take: readers.select_number(values, 1, take) for take in entry.TAKES}
    assert taken == {
        "last": 7, "first": 2, "mean": 4, "median": 3, "max": 7, "min": 2, "sum": 12
    }  # fmt: skip
    assert readers.select_number(values, 4, "mean") is None
    assert readers.select_number(["1", "nan"], 0, "last") is None
    assert readers.by_path("a[1].b", '{"a": [0, {"b": 4}]}') == ["4"]
    assert readers.by_path("rate", '{"rate": 1}\nno\n{"rate": 2}\n') == ["1", "2"]


def test_inputs_are_the_same_each_time_and_made_once(tmp_path: Path) -> None:
    """All of a program's or none: a directory that is there is whole."""
    wanted = [
        inputs.ResolvedInput("t", "text", {"megabytes": 1}, ()),
        inputs.ResolvedInput("v", "video", {"width": 32, "height": 16, "frames": 2}, ()),
        inputs.ResolvedInput("d", "tree", {"files": 3}, ()),
    ]
    first = inputs.make(wanted, tmp_path / "one", lambda *_: None)
    second = inputs.make(wanted, tmp_path / "two", lambda *_: None)
    assert (first / "t").read_bytes() == (second / "t").read_bytes()
    assert (first / "v").stat().st_size > 32 * 16 * 2
    before = (first / "t").stat().st_mtime_ns
    assert inputs.make(wanted, tmp_path / "one", lambda *_: None) == first
    assert (first / "t").stat().st_mtime_ns == before
    other = [inputs.ResolvedInput("t", "text", {"megabytes": 2}, ())]
    assert inputs.make(other, tmp_path / "one", lambda *_: None) != first
    with pytest.raises(LockwrightError, match="no file"):
        inputs.make(
            [inputs.ResolvedInput("x", "", {}, ("true",))], tmp_path / "one", lambda *_: None
        )
    assert len(list((tmp_path / "one/inputs").iterdir())) == 2
