"""`lockwright run --plan`: each mutex has the lock of its entry; bad plans are refused."""

import dataclasses
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lockwright.preload.rwlocks import rwlocks
from lockwright.profile import record
from lockwright.profile.frames import Frame

from .conftest import Cli, Program, Refuses, Result

PlanFile = Callable[[str], Path]


@pytest.fixture
def plan(tmp_path: Path) -> PlanFile:
    def write(text: str) -> Path:
        path = tmp_path / "plan.toml"
        path.write_text(text)
        return path

    return write


def entries(result: Result) -> dict[str, tuple[str, int]]:
    """Return, for each entry, the locks that --stats names and the number of its mutexes."""
    matching = re.findall(r"^    ([a-z, -]+?) +([\d,]+)  (.+)$", result.err, re.MULTILINE)
    return {what: (locks, int(number.replace(",", ""))) for locks, number, what in matching}


def test_each_kind_of_entry(cli: Cli, program: Program, plan: PlanFile) -> None:
    """Entries name variables, sites that initialise, sites that lock first, and the rest."""
    several = program("several", "-g")
    source = (Path(__file__).parent / "programs/several.c").read_text().splitlines()
    line = source.index("  pthread_mutex_init(made, NULL); /* made here */")
    result = cli(
        "run", "--stats", "--plan",
        plan(
            f"""
            lock = "ttas"
            [[mutex]]
            lock = "mcs-stp"
            symbol = "shown"
            [[mutex]]
            lock = "ttas"
            symbol = "hidden"
            [[mutex]]
            lock = "mcs-stp"
            site = "several.c:{line + 1}"
            ordinal = 1
            [[mutex]]
            lock = "pthread"
            site = "make_otherwise"
            [[mutex]]
            lock = "mcs-stp"
            site = "take_first"
            """
        ),
        "--", several, "10",
    )  # fmt: skip
    assert result.status == 0, result.err
    assert entries(result) == {
        "all others": ("ttas", 2),
        "symbol shown": ("mcs-stp", 1),
        "symbol hidden": ("ttas", 1),
        f"site several.c:{line + 1}, ordinal 1": ("mcs-stp", 1),
        "site make_otherwise": ("pthread", 1),
        "site take_first": ("mcs-stp", 1),
    }
    assert re.search(r"^  acquisitions +71$", result.err, re.MULTILINE)


def test_a_library_and_the_rest(cli: Cli, program: Program, plan: PlanFile) -> None:
    """Mutexes in the program, or made by it, are the program's, unless another entry has them."""
    several = program("several", "-g")
    text = f"""
        lock = "pthread"
        [[mutex]]
        lock = ["mcs-stp", "ttas"]
        library = "{several.name}"
        [[mutex]]
        lock = "ttas"
        symbol = "{several.name}:hidden"
        """
    result = cli("run", "--stats", "--plan", plan(text), "--", several, "1", "and a child")
    assert result.status == 0, result.err
    assert entries(result) == {
        "all others": ("pthread", 0),
        f"library {several.name}": ("mcs-stp, ttas", 6),
        f"symbol {several.name}:hidden": ("ttas", 1),
    }


@pytest.mark.parametrize(
    ("of_symbol", "of_others", "sleeps"),
    [
        ("ttas", "mcs-stp", False),
        ("mcs-stp", "ttas", True),
    ],
)
def test_a_mutex_uses_the_lock_of_its_entry(
    cli: Cli, program: Program, plan: PlanFile, of_symbol: str, of_others: str, sleeps: bool
) -> None:
    """Only one of the two locks ever parks."""
    text = f"""
        lock = "{of_others}"
        [[mutex]]
        lock = "{of_symbol}"
        symbol = "queued_for"
        """
    result = cli("run", "--stats", "--plan", plan(text), "--", program("queueing"), "30")
    assert result.status == 3, result.err
    assert entries(result)["symbol queued_for"] == (of_symbol, 1)
    waits = re.search(r"^  futex waits +([\d,]+)$", result.err, re.MULTILINE)
    assert waits is not None
    assert (waits[1] != "0") == sleeps, result.err


def test_an_entry_without_mutexes_is_reported(cli: Cli, program: Program, plan: PlanFile) -> None:
    text = '[[mutex]]\nlock = "ttas"\nsymbol = "hidden"\nordinal = 3\n'
    result = cli("run", "--stats", "--plan", plan(text), "--", program("several", "-g"), "1")
    assert result.status == 0, result.err
    assert entries(result)["symbol hidden, ordinal 3  (no mutex matched)"] == ("ttas", 0)
    assert entries(result)["all others"] == ("pthread", 7)


def test_an_entry_without_mutexes_is_reported_without_stats(
    cli: Cli, program: Program, plan: PlanFile
) -> None:
    """One line at the end names such entries, however the program ended."""
    several = program("several", "-g")
    matching = '[[mutex]]\nlock = "ttas"\nsymbol = "hidden"\n'
    idle = '[[mutex]]\nlock = "ttas"\nsite = "make"\nordinal = 9\n'
    path = plan(matching + idle + '[[mutex]]\nlock = "ttas"\nsymbol = "shown"\nordinal = 1\n')
    result = cli("run", "--plan", path, "--", several, "1", "and a child")
    message = "no mutex matched site make, ordinal 9; symbol shown, ordinal 1"
    assert (result.status, result.err) == (0, f"lockwright: {path}: {message}\n")
    in_a_child = plan(idle.replace("make", f"{several}:make"))
    result = cli("run", "--plan", in_a_child, "--", "sh", "-c", f"{several} 1; kill -TERM $$")
    assert result.status == -15, result.err
    assert result.err.endswith(f"no mutex matched site {several}:make, ordinal 9\n")
    result = cli("run", "--plan", plan(matching), "--", several, "1", "and a child")
    assert (result.status, result.err) == (0, "")


def test_the_rank_of_a_profile(cli: Cli, program: Program, plan: PlanFile, tmp_path: Path) -> None:
    """A mutex of a profile is identified by its variable or by the site that initialised it."""
    several = program("several", "-g")
    names = subprocess.run(["nm", several], capture_output=True, text=True, check=True).stdout
    address = {name: int(value, 16) for value, name in re.findall(r"^(\S+) \S (\S+)$", names, re.M)}
    places: tuple[tuple[record.PlaceKind, int, int], ...] = (
        (record.OBJECT, address["initialised"], 0),
        (record.CREATED, _return_of_the_call_in(several, "make"), 1),
    )
    mutexes = tuple(
        dataclasses.replace(_mutex(), place=record.Place(kind, Frame(str(several), offset), n))
        for kind, offset, n in places
    )
    document = record.Profile((), 1, "", "preload", record.Process(), mutexes)
    (tmp_path / "p.json").write_text(document.to_json())
    table = '[[mutex]]\nlock = "ttas"\nprofile = "p.json"\nrank = {}\n'
    result = cli(
        "run", "--stats", "--plan", plan(table.format(1) + table.format(2)), "--", several, "1"
    )
    assert entries(result) == {
        "all others": ("pthread", 5),
        "rank 1": ("ttas", 1),
        "rank 2": ("ttas", 1),
    }
    cli("run", "--plan", plan(table.format(3)), "--", several, "1").refuses("2 mutexes", "rank 3")


def test_the_rank_of_a_reader_writer_lock(
    cli: Cli, program: Program, plan: PlanFile, tmp_path: Path
) -> None:
    several = program("several_rwlocks", "-g")
    names = subprocess.run(["nm", several], capture_output=True, text=True, check=True).stdout
    address = re.search(r"^(\S+) D shown$", names.replace(" B ", " D "), re.M)
    assert address is not None
    place = record.Place(record.OBJECT, Frame(str(several), int(address[1], 16)))
    rwlock = record.RwLock("", place, 0, 1, 2, _mutex(), _mutex())
    document = record.Profile((), 1, "", "preload", record.Process(), (), rwlocks=(rwlock,))
    (tmp_path / "p.json").write_text(document.to_json())
    table = '[[rwlock]]\nlock = "mcs-rw"\nprofile = "p.json"\nrank = {}\n'
    result = cli("run", "--plan", plan(table.format(1)), "--", several)
    assert algorithms(result)["shown"] == "mcs-rw", result.err
    cli("run", "--plan", plan(table.format(2)), "--", several).refuses(
        "1 reader-writer locks", "rank 2"
    )


def _mutex() -> record.Mutex:
    nothing = record.Distribution()
    place = record.Place(record.OBJECT, Frame("", 0))
    return record.Mutex("", place, 0, "normal", 1, 0, nothing, nothing, nothing)


def _return_of_the_call_in(program: Path, function: str) -> int:
    """Return the return address of the call of pthread_mutex_init in a function."""
    words = ["objdump", "-d", f"--disassemble={function}", str(program)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    after = re.search(r"call.*pthread_mutex_init.*\n *([0-9a-f]+):", text)
    assert after, text
    return int(after[1], 16)


BAD_PLANS = {
    "": ("is empty",),
    "lock = ": ("is not TOML",),
    'lok = "ttas"': ("lok: is not a key", "did you mean 'lock'?"),
    'lock = "tta"': ("no lock is named 'tta'", "did you mean 'ttas'"),
    "lock = 3": ("lock: is 3, not a text or a list",),
    '[[mutex]]\nsymbol = "shown"': ("mutex[1].lock: is missing",),
    '[[mutex]]\nlock = "ttas"': ("does not say which mutex",),
    '[[mutex]]\nlock = "ttas"\nsymbol = "show"': ("no variable 'show'", "did you mean shown?"),
    '[[mutex]]\nlock = "ttas"\nsite = "mak"': ("no function 'mak'", "did you mean make?"),
    '[[mutex]]\nlock = "ttas"\nsite = "several.c:1"': ("several.c:1", "name the line"),
    '[[mutex]]\nlock = "ttas"\nlibrary = "libc.so.7"': ("libc.so.7", "did you mean libc.so.6?"),
    '[[mutex]]\nlock = "ttas"\nsymbol = "shown"\nsite = "make"': ("both a symbol and a site",),
    '[[mutex]]\nlock = "ttas"\nrank = 1': ("has no profile",),
    '[[mutex]]\nlock = "ttas"\nrank = 1\nprofile = "none.json"': ("none.json",),
    '[[mutex]]\nlock = "ttas"\nordinal = -1\nsymbol = "shown"': (
        "mutex[1].ordinal: is -1, not a whole number >= 0",
    ),
    '[[mutex]]\nlock = "ttas"\nsymbol = "shown"\n[[mutex]]\nlock = "pthread"\nsymbol = "shown"': (
        "1 (symbol shown) and 2",
        "same mutex",
    ),
    '[[rwlock]]\nlock = "phasefair"\nsymbol = "shown"': ("'phasefair'", "'phase-fair'"),
    '[[rwlock]]\nlock = "mutex"\nsymbol = "shown"': ("rwlock[1]", "none of them", "'keep'"),
    '[[rwlock]]\nlock = "keep"\n[[rwlock]]\nlock = "keep"': ("rwlock[2]", "the second"),
    '[[rwlock]]\nsymbol = "shown"': ("rwlock[1].lock: is missing",),
    "[[rwlock]]\nlock = 3": ("rwlock[1].lock: is 3, not a text or a list",),
}


@pytest.mark.parametrize("text", BAD_PLANS, ids=range(len(BAD_PLANS)))
def test_a_bad_plan_is_refused(
    refuses: Refuses, program: Program, plan: PlanFile, text: str
) -> None:
    """The line states the error and the advice; nothing is run."""
    words = ["run", "--plan", plan(text), "--", program("several", "-g"), "1"]
    refuses(words, *BAD_PLANS[text])


@pytest.mark.parametrize(
    ("options", "found"), [([], "futex-rw"), (["--rwlock", "phase-fair"], "phase-fair")]
)
def test_the_reader_writer_lock_of_a_plan(
    cli: Cli, plan: PlanFile, options: list[str], found: str
) -> None:
    """The option precedes the plan, and the plan the environment."""
    show = "import os, threading; print(os.environ['LOCKWRIGHT_RWLOCK'])"
    words = ["--plan", plan('rwlock = "futex-rw"'), *options, "--", "python3", "-c", show]
    done = cli("run", *words, env={"LOCKWRIGHT_RWLOCK": "mutex"})
    assert (done.status, done.out.split()) == (0, [found]), done.err
    cli("run", "--plan", plan('rwlock = "phasefair"'), "--", "true").refuses("'phase-fair'")
    cli("run", "--plan", plan('rwlock = "mutex"'), "--", "true").refuses("--rwlock mutex")


def algorithms(result: Result) -> dict[str, str]:
    """Return the algorithm of each lock of several_rwlocks by its number in the kind word."""
    names = ["keep", "mutex", *rwlocks()]
    pairs = (line.split() for line in result.out.splitlines())
    return {lock: names[int(number)] for lock, number in pairs}


def test_each_kind_of_entry_of_reader_writer_locks(
    cli: Cli, program: Program, plan: PlanFile
) -> None:
    """Each lock has the algorithm of its entry, the C library's too, and is counted once."""
    several = program("several_rwlocks", "-g", "-pthread")
    text = """
        [[rwlock]]
        lock = "parking-lot-rw"
        [[rwlock]]
        lock = "futex-rw"
        symbol = "shown"
        [[rwlock]]
        lock = "keep"
        symbol = "hidden"
        [[rwlock]]
        lock = ["phase-fair", "shfl-rw"]
        site = "make"
        [[rwlock]]
        lock = "mcs-rw"
        site = "take"
        ordinal = 0
        [[rwlock]]
        lock = "big-reader"
        site = "take_with_deadline"
        [[mutex]]
        lock = "ttas"
        library = "libc.so.6"
        """
    result = cli("run", "--stats", "--plan", plan(text), "--", several)
    assert result.status == 0, result.err
    assert algorithms(result) == {
        "shown": "futex-rw",
        "hidden": "keep",
        "raced": "mcs-rw",
        "first": "phase-fair",
        "second": "shfl-rw",
        "of_child": "big-reader",
    }
    of_mutexes, title, of_rwlocks = result.err.partition("  reader-writer locks by the plan\n")
    assert title, result.err
    assert "no mutex matched" in of_mutexes
    found = re.findall(r"^    (\S.*?) +(\d+)  (.+)$", of_rwlocks, re.MULTILINE)
    assert found == [
        ("parking-lot-rw", "0", "all others"),
        ("futex-rw", "1", "symbol shown"),
        ("keep", "1", "symbol hidden"),
        ("phase-fair, shfl-rw", "2", "site make"),
        ("mcs-rw", "1", "site take, ordinal 0"),
        ("big-reader", "1", "site take_with_deadline"),
    ]


def test_reader_writer_locks_without_an_entry(cli: Cli, program: Program, plan: PlanFile) -> None:
    """They stay the C library's, unless an option or the plan names another lock for them."""
    several = program("several_rwlocks", "-g", "-pthread")
    path = plan('[[rwlock]]\nlock = "futex-rw"\nsymbol = "shown"\n')
    result = cli("run", "--plan", path, "--", several)
    assert result.status == 0, result.err
    others = {"hidden", "raced", "first", "second", "of_child"}
    assert algorithms(result) == {"shown": "futex-rw", **dict.fromkeys(others, "keep")}
    result = cli("run", "--plan", path, "--rwlock", "phase-fair", "--", several)
    assert algorithms(result) == {"shown": "futex-rw", **dict.fromkeys(others, "phase-fair")}
    # The locks of a child count too.
    path = plan('[[rwlock]]\nlock = "futex-rw"\nsymbol = "shown"\nordinal = 1\n')
    result = cli("run", "--plan", path, "--", several)
    message = f"lockwright: {path}: no reader-writer lock matched symbol shown, ordinal 1\n"
    assert (result.status, result.err) == (0, message)


def test_options_that_exclude_each_other(cli: Cli, plan: PlanFile) -> None:
    plan_file = plan('lock = "ttas"')
    cli("run", "--lock", "ttas", "--plan", plan_file, "--", "true").refuses("exclude each other")
    cli("run", "--plan", plan_file, "--rwlock", "mutex", "--", "true").refuses(
        "phase-fair", "--lock"
    )
    cli("run", "--plan", plan_file, "--spin", "mutex", "--", "true").refuses("spin locks", "--lock")
    cli("run", "--plan", "nowhere.toml", "--", "true").refuses("nowhere.toml")
