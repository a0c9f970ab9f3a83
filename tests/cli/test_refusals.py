"""Input that the commands refuse before they run a program: one line that names what is wrong."""

import shlex
from pathlib import Path

import pytest
from support.processes import shell_script

from .conftest import Program, Refuses

#: Command, options, and parts of the line. {marks}: a program that leaves a mark.
REFUSED: dict[str, list[tuple[str, list[str]]]] = {
    "compare {options} -- {marks} {threads}": [
        ("--threads 2,x", ["--threads", "'x'"]),
        ("--threads 0", ["--threads", "'0'"]),
        ("--threads ''", ["--threads"]),
        ("--threads 2,", ["--threads"]),
        ("--threads 1-4", ["--threads", "'1-4'"]),
        ("--threads \u0663", ["--threads"]),
        ("--threads -2", ["--threads"]),
        ("--threads 9999999", ["--threads"]),
    ],
    "compare --threads 2 {options} -- {marks} {threads}": [
        ("--runs x", ["invalid value 'x' for --runs", "a whole number"]),
        ("--runs 0", ["--runs"]),
        ("--runs 2.5", ["--runs"]),
        ("--runs 100001", ["--runs must be", "100001"]),
        ("--runs 99999999999999999999", ["--runs"]),
        ("--warm-up-runs -1", ["--warm-up-runs"]),
        ("--timeout 0", ["--timeout must be greater than 0"]),
        ("--timeout nan", ["--timeout"]),
        ("--timeout inf", ["--timeout", "must be a number"]),
        ("--timeout soon", ["--timeout", "soon"]),
        ("--locks ttas,mcs-stq", ["mcs-stq", "mcs-stp"]),
        ("--locks ,", ["--locks"]),
        ("--locks ''", ["--locks"]),
        ("--locks mcs", ["'mcs'", "'mcs-spin' or 'mcs-stp'"]),
        ("--locks all,none", ["'none'"]),
        ("--metric ( --unit x", ["--metric", "regular expression"]),
        ("--metric (a)(b) --unit x", ["2 groups"]),
        ("--metric '' --unit x", ["--metric is empty"]),
        ("--unit x", ["--metric"]),
        ("--lower-is-better", ["--metric"]),
        ("--nonsense", ["--nonsense"]),
        ("--json /no/such/directory/x", ["--json", "/no/such/directory/x"]),
        ("--csv /", ["--csv"]),
        ("--html /proc/x", ["--html"]),
        ("--db /no/such/directory/x", ["--db"]),
        ("--db /", ["--db"]),
        ("--json same --csv ./same", ["--json and --csv", "same file"]),
        ("--html same --db same", ["--html and --db", "same file"]),
    ],
    "compare {options}": [
        ("", ["CMD"]),
        ("-- {marks} {threads}", ["--threads is not given"]),
        ("-- {marks} {=10//t}", ["--threads is not given"]),
        ("--threads 2 -- {marks} 2", ["no {threads}"]),
        ("--threads 2 -- {marks} {=t+}", ["not an expression"]),
        ("--threads 2 -- {marks} {=t**2}", ["not allowed"]),
        ("--threads 2 -- {marks} {=1//(t-2)}", ["divides by zero"]),
        ("--threads 2 -- {marks} {=t", ["closing brace"]),
    ],
    "tune {options} -- {marks} 1 1": [
        ("--budget soon", ["--budget", "'soon' is not a time", "5m"]),
        ("--budget 0", ["'0' is not a time"]),
        ("--margin 100%", ["100%", "not a percentage"]),
        ("--locks ttass", ["no lock is named 'ttass'", "ttas"]),
        ("--locks ,", ["--locks names no lock"]),
        ("--profile /nowhere", ["cannot read /nowhere"]),
        ("--profile x --locks ttas", ["--locks and --profile exclude each other"]),
        ("--per-mutex /nowhere/x", ["cannot write --per-mutex /nowhere/x"]),
        ("--per-mutex x --locks ttas", ["--per-mutex needs a profile"]),
        ("--with colour", ["--with 'colour' is none of", "allocator"]),
        ("--with pages --per-mutex x", ["--with and --per-mutex exclude each other"]),
        ("--resume", ["no interrupted tuning of this command"]),
        ("--unit s", ["--unit is given without --metric"]),
    ],
    "run {options} -- {marks}": [
        ("--allocator hoard", ["no allocator is named 'hoard'", "jemalloc"]),
        ("--pin dense", ["--pin 'dense' is not compact", "compact:4"]),
        ("--pin compact:100000", ["needs 100000 processors"]),
        ("--sched fifo", ["--sched 'fifo' is unknown", "batch"]),
        ("--pages 2M", ["--pages '2M' is unknown", "huge"]),
        ("--lock mcs-stp --sem lifo", ["lifo", "cr"]),
        ("--keep cond,spin", ["invalid value 'spin' for --keep", "rwlock, cond, sem"]),
        ("--keep cond --cond cr", ["--keep cond and --cond exclude each other"]),
        ("--lock ttas --spin kep", ["--spin", "did you mean 'keep'?"]),
        ("--lock mcs-stp --spin mutex", ["mcs-stp takes 16 bytes", "ttas", "parking-lot"]),
        ("--lock ttas --rwlock xyz", ["keep, mutex, phase-fair"]),
        ("--plan nowhere.toml", ["nowhere.toml"]),
    ],
    "{options}": [
        ("doctor --json /no/such/where.json", ["where.json", "--json"]),
        ("doctor --seconds 0", ["--seconds"]),
        ("doctor now", ["now"]),
        ("list --json", ["--json", "requires an argument"]),
        ("info zzz", ["ttas", "futex", "hmcs"]),
        ("top", ["--pid"]),
        ("top -- no-such-program", ["no-such-program"]),
        ("top --interval 0 -- {marks}", ["--interval"]),
        ("top -o /no/such/log -- {marks}", ["--output"]),
        ("top --pid 1 -o log", ["--output"]),
        ("top --pid 4194304", ["no process 4194304"]),
        ("metrics --pid 4194304", ["no process 4194304"]),
        ("metrics --pid 4194304 --listen 0", ["no process 4194304"]),
        ("metrics --pid x", ["--pid"]),
        ("metrics --listen 192.0.2.1:9464", ["cannot listen on 192.0.2.1"]),
        ("metrics --listen no-host.invalid:1", ["no-host.invalid"]),
        *(
            (f"metrics --listen '{address}'", [f"'{address}' is not an address"])
            for address in ("", "x", "65536", "-1", "::1:9464", "a b:1", "[::1]")
        ),
        ("calibrate --output /nonexistent/c.json", ["/nonexistent/c.json", "--output"]),
        ("advise none.json", ["none.json", "lockwright profile"]),
        ("predict none.json", ["none.json"]),
    ],
}


LINES = [
    (form.replace("{options}", options), parts)
    for form, rows in REFUSED.items()
    for options, parts in rows
]


@pytest.mark.parametrize(("line", "parts"), LINES, ids=[line for line, _ in LINES])
def test_the_line_names_what_is_wrong(
    line: str,
    parts: list[str],
    program: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refuses: Refuses,
) -> None:
    """Nothing has run before."""
    mark = tmp_path / "mark"
    marks = shell_script(tmp_path / "marks", f"touch {mark}\nexec {program('worker')} 1 10")
    monkeypatch.chdir(tmp_path)
    refuses([marks if word == "{marks}" else word for word in shlex.split(line)], *parts)
    assert not mark.exists()
