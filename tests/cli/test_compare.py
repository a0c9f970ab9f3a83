"""The runs, files and tables of `lockwright compare`."""

import csv
import json
import os
import pty
import re
import shlex
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.processes import shell_script

from .conftest import Cli, Program, on_a_terminal

FEW = ["--locks", "pthread,ttas,futex", "--runs", "3"]


#: The traits that locks of a family have in common.
TRAITS = ("category", "parking", "yields")


def table_rows(out: str) -> dict[str, str]:
    """Return the rows of the last table on standard output, by lock."""
    return {
        name: line
        for line in out.splitlines()
        if (name := line[2:].split(" ")[0]) in ("pthread", "ttas", "futex", "mcs-stp")
        and line[:2] in ("* ", "= ", "  ")
    }


@pytest.fixture(scope="module")
def compared(
    shared_cli: Cli, program: Program, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Make a comparison at two numbers of threads, with every kind of file."""
    folder = tmp_path_factory.mktemp("compared")
    files = {kind: folder / f"result.{kind}" for kind in ("json", "csv", "html", "sqlite")}
    result = shared_cli(
        *["compare", *FEW, "--threads", "2,1", "--metric", r"rate: ([0-9.]+)", "--unit", "ops"],
        *["--json", files["json"], "--csv", files["csv"], "--html", files["html"]],
        *["--db", files["sqlite"], "--"],
        *[program("worker"), "{threads}", "{=6000//t}"],
    )
    assert result.status == 0, result.err
    return files | {"result": result, "document": json.loads(files["json"].read_text())}


def test_output_has_a_table_per_number_of_threads_and_a_verdict(compared: dict[str, Any]) -> None:
    """The table has locks, medians with their unit and marks; the last sentence is the verdict."""
    out = compared["result"].out
    assert out.index("2 threads\n") < out.index("\n1 thread\n")
    rows = table_rows(out)
    assert rows.keys() == {"pthread", "ttas", "futex"}
    # Every run of this program has the same rate.
    assert "median (ops)" in out
    assert all(" 6,000 " in row for row in rows.values()), rows
    assert sorted(row[0] for row in rows.values()) == ["*", "=", "="]
    assert "not lock-sensitive" in out.splitlines()[-1]


def test_json_has_everything(compared: dict[str, Any]) -> None:
    """It has the plan, provenance, acquisitions of the probe run, every run, and summaries."""
    document = compared["document"]
    assert document["plan"]["threads"] == [2, 1]
    assert document["probe"]["acquisitions"] == 6000
    assert document["probe"]["mutexes"] == 1
    assert {"kernel", "cpu", "libc", "machine", "lockwright"} <= document["provenance"].keys()
    assert len(document["runs"]) == 2 * 3 * (3 + 1)
    for run in document["runs"]:
        assert run["outcome"] == "finished"
        # The last match counts, not the `early rate`.
        assert run["value"] == 6000.5
        assert run["wall"] > 0
        assert run["status"] == 0
    assert {row["lock"] for row in document["summaries"]} == {"pthread", "ttas", "futex"}


def test_rounds_are_interleaved_and_warm_up_comes_first(compared: dict[str, Any]) -> None:
    runs = compared["document"]["runs"]
    order = [(run["threads"], run["round"]) for run in runs]
    assert order == [(t, n) for t in (2, 1) for n in (0, 1, 2, 3) for _ in range(3)]
    for start in range(0, len(runs), 3):
        assert {run["lock"] for run in runs[start : start + 3]} == {"pthread", "ttas", "futex"}


def test_csv_has_a_line_per_run(compared: dict[str, Any]) -> None:
    with compared["csv"].open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 24
    assert {line["unit"] for line in lines} == {"ops"}
    assert [line["lock"] for line in lines] == [run["lock"] for run in compared["document"]["runs"]]


def test_results_are_in_the_database(compared: dict[str, Any]) -> None:
    with sqlite3.connect(compared["sqlite"]) as base:
        assert base.execute("SELECT count(*) FROM run").fetchone() == (24,)
        assert base.execute("SELECT count(finished) FROM experiment").fetchone() == (1,)


def test_report_is_self_contained_and_escapes_its_title(compared: dict[str, Any]) -> None:
    """The report loads no other file, contains all data, and shows the title as text."""
    page = compared["html"].read_text()
    assert "<h1>Locks under worker</h1>" in page
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", page)
    assert "Plotly" in page
    data = page_data(compared["html"])
    assert [panel["threads"] for panel in data["panels"]] == [2, 1]
    assert sum(len(panel["runs"]) for panel in data["panels"]) == 24
    # Every heading is a button that sorts, and every cell has its sort key.
    assert page.count('<th scope="col"><button type="button">') == 2 * 5
    assert page.count("<td data-key=") == page.count("<td") == 2 * 3 * 5
    assert "{{" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


def page_data(page: Path) -> dict[str, Any]:
    """Return the data from which the report draws its plots."""
    found = re.search(r"const DATA = (.*);\n", page.read_text())
    assert found is not None
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def test_wall_time_without_threads_and_baseline_added(cli: Cli, program: Program) -> None:
    """pthread is added to every comparison, with a message; a lower time is better."""
    result = cli("compare", "--locks", "ttas", "--runs", "2", "--", program("worker"), "2", "100")
    assert result.status == 0, result.err
    assert "pthread is added" in result.err
    assert table_rows(result.out).keys() == {"pthread", "ttas"}
    assert "100 ms" in result.out, "no warning about short runs"


def test_all_locks_are_compared(cli: Cli, program: Program) -> None:
    """Every lock of `lockwright list` has a row."""
    names = {row["name"] for row in json.loads(cli("list", "--json", "-").out)}
    words = ["compare", "--locks", "all", "--runs", "1", "--warm-up-runs", "0"]
    out = cli(*words, "--", program("worker"), "1", "100").out
    assert names <= {line[2:].split(" ")[0] for line in out.splitlines()}
    assert "-" in next(line for line in out.splitlines() if line[2:].startswith("ttas "))


def test_a_lock_of_each_family_is_compared_by_default(
    cli: Cli, program: Program, tmp_path: Path
) -> None:
    """The figure of --metric needs no unit; a line says how to choose other locks."""
    rows = {row["name"]: row for row in json.loads(cli("list", "--json", "-").out)}
    words = ["compare", "--runs", "1", "--warm-up-runs", "0", "--metric", r"rate: ([0-9.]+)"]
    result = cli(*words, "--json", tmp_path / "o.json", "--", program("worker"), "1", "100")
    assert result.status == 0, result.err
    assert f"--locks names others, or all {len(rows)}" in result.err
    assert "median (value)" in result.out
    first, second, *others = json.loads((tmp_path / "o.json").read_text())["plan"]["locks"]
    assert (first, second) == ("pthread", "default")
    others.append(next(name for name in rows if rows[name]["is_default"]))
    families = {name: tuple(rows[name][key] for key in TRAITS) for name in rows}
    of_others = [families[name] for name in others]
    assert sorted(of_others) == sorted({families[name] for name in rows if name != "pthread"})


def test_the_verdict_names_the_winner_with_its_command(
    cli: Cli, program: Program, tmp_path: Path
) -> None:
    """A program with twice the rate under `futex` makes futex the winner."""
    cases = 'case $LD_PRELOAD in *futex.so) echo "rate: 200";; *) echo "rate: 100";; esac'
    script = shell_script(tmp_path / "picky", f"{program('ends')}\n{cases}")
    words = ["compare", *FEW, "--metric", r"rate: (\d+)", "--unit", "ops", "--", script]
    out = cli(*words).out
    rows = table_rows(out)
    assert rows["futex"].startswith("* ")
    assert rows["ttas"].startswith("  ")
    assert "futex is best: 2.00 times as good as pthread (95 % CI 2.00 to 2.00)." in out
    use = shlex.split(out.splitlines()[-1])
    assert use[1:] == ["run", "--lock", "futex", "--", str(script)]
    again = subprocess.run(use, capture_output=True, text=True, timeout=60, check=True)
    assert again.stdout == "rate: 200\n"


def test_prepare_runs_before_each_run_without_the_lock(
    cli: Cli, program: Program, tmp_path: Path
) -> None:
    """It runs before the probe run and each other run, with {threads} replaced."""
    log = tmp_path / "log"
    result = cli(
        *[
            "compare",
            "--locks",
            "pthread,ttas",
            "--runs",
            "2",
            "--warm-up-runs",
            "1",
            "--threads",
            "3",
        ],
        *["--prepare", f'echo {{threads}} "$LD_PRELOAD" >> {log}', "--"],
        *[program("worker"), "{threads}", "10"],
    )
    assert result.status == 0, result.err
    assert log.read_text() == "3 \n" * (1 + 2 * 3)


def test_a_failing_lock_stays_in_the_table(cli: Cli, program: Program, tmp_path: Path) -> None:
    """A note states how many runs failed and why; the lock cannot win."""
    cases = "case $LD_PRELOAD in *ttas.so) echo went wrong >&2; exit 9;; esac"
    script = shell_script(tmp_path / "frail", f"{program('ends')}\n{cases}")
    result = cli("compare", *FEW, "--", script)
    assert result.status == 0
    assert table_rows(result.out)["ttas"].split() == ["ttas", "failed", "-", "-", "-"]
    assert "\n  ttas: 4 runs failed (exit status 9: went wrong)\n" in result.out


def test_a_missing_metric_is_reported(cli: Cli, program: Program, tmp_path: Path) -> None:
    """A note states how many runs printed no number."""
    cases = "case $LD_PRELOAD in *ttas.so) ;; *) echo rate: 1;; esac"
    script = shell_script(tmp_path / "mute", f"{program('ends')}\n{cases}")
    words = ["compare", *FEW, "--metric", r"rate: (\d+)", "--unit", "x", "--", script]
    assert "ttas: 4 runs failed (its output has no match of --metric)" in cli(*words).out


def test_a_hanging_run_is_killed_with_its_descendants(
    cli: Cli, program: Program, tmp_path: Path
) -> None:
    """Those that left the process group are killed too; after two timeouts the lock is dropped."""
    pids = tmp_path / "pids"
    out = tmp_path / "o.json"
    result = cli(
        *["compare", *FEW, "--timeout", "3", "--json", out, "--html", tmp_path / "o.html", "--"],
        *[program("family"), pids, "ttas"],
    )
    assert result.status == 0, result.err
    runs = json.loads(out.read_text())["runs"]
    assert [r["outcome"] for r in runs if r["lock"] == "ttas"] == ["timeout", "timeout"]
    assert len([r for r in runs if r["lock"] == "futex"]) == 4
    assert table_rows(result.out)["ttas"].split()[:2] == ["ttas", ">3"]
    assert "ttas: 2 runs killed after 3 s (--timeout), then not run further" in result.out
    (panel,) = page_data(tmp_path / "o.html")["panels"]
    missing = {row["lock"]: row["missing"] for row in panel["rows"]}
    assert missing == {"ttas": "timeout", "futex": None, "pthread": None}
    assert {run["value"] for run in panel["runs"] if run["lock"] == "ttas"} == {None}
    started = pids.read_text().split()
    assert len(started) == 2
    for pid in started:
        assert not Path("/proc", pid).exists()


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_output_fits_the_width_of_the_terminal(
    command: list[str],
    environment: dict[str, str],
    program: Program,
    tmp_path: Path,
    columns: int,
) -> None:
    """Only the command, one long line, may be wider; no figure is cut."""
    script = shell_script(
        tmp_path / "frail",
        f"{program('ends')}\ncase $LD_PRELOAD in\n"
        "*wright-ttas.so) echo a very long reason why this program does not work >&2; exit 9;;\n"
        "*-partitioned.so) echo rate: 99123456.5;; *) echo rate: 0.00012345;; esac",
    )
    words = [*command, "compare", "--locks", "all", "--runs", "2", "--warm-up-runs", "0"]
    words += ["--metric", r"rate: (\S+)"]
    out, status = on_a_terminal(
        [*words, "--unit", "requests/s", "--rwlock", "mutex", "--", str(script)],
        environment,
        columns,
        both=False,
    )
    assert status == 0, out
    lines = out.splitlines()
    assert "Use it:" in lines
    use = lines.index("Use it:")
    # The first line is the path of the program.
    assert not [line for line in lines[1:use] if len(line) > columns]
    assert "…" not in out
    rows = [line.split() for line in lines]
    assert any(row[:3] == ["*", "partitioned", "99,123,456"] and ">100" in row for row in rows)
    assert any(line.startswith("  ttas: 2 runs failed (exit status 9: a very") for line in lines)
    assert lines[use + 1].endswith(f"run --lock partitioned --rwlock mutex -- {script}")


def test_files_are_written_after_the_pipe_is_closed(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> None:
    """With `| head` the comparison still ends and is stored; the status is SIGPIPE's."""
    target = tmp_path / "o.json"
    process = subprocess.Popen(
        [*command, "compare", *FEW, "--json", str(target), "--", program("worker"), "1", "10"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 128 + 13
    assert json.loads(target.read_text())["plan"]["runs"] == 3
    with sqlite3.connect(tmp_path / "state/lockwright/experiments.sqlite") as base:
        assert base.execute("SELECT count(finished) FROM experiment").fetchone() == (1,)


def test_progress_is_written_to_the_terminal_only(
    command: list[str], environment: dict[str, str], program: Program
) -> None:
    """Standard error is a terminal, standard output a pipe."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*command, "compare", *FEW, "--", str(program("worker")), "2", "100"],
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment | {"TERM": "xterm"},
    )
    os.close(slave)
    out, _ = process.communicate(timeout=60)
    progress = os.read(master, 100000).decode()
    os.close(master)
    assert process.returncode == 0
    assert "\x1b" in progress
    assert "\x1b" not in out.decode()
    assert table_rows(out.decode()).keys() == {"pthread", "ttas", "futex"}
