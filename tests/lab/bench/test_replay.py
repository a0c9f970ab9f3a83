"""Recorded runs replayed to the searches of `lockwright bench tune --replay`."""

import json
from pathlib import Path

import numpy as np
import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment.request import Request
from lockwright.tune import knowledge
from lockwright_lab.bench.replay import conduct, records, report, searches

LOCKS = ("pthread", "ttas", "mcs-stp", "hmcs", "clh-spin", "ticket")


def recorded(best: int, runs: int = 40) -> records.Recorded:
    """Return a program in which one lock is 20 % better than the others."""
    random = np.random.default_rng(best)
    logs = [random.normal(0.0 if lock == best else -0.2, 0.05, runs) for lock in range(len(LOCKS))]
    return records.Recorded("program", LOCKS, tuple(logs))


def prior(best: int) -> knowledge.Prior:
    """Return the prior of programs in which mostly the same lock is the best."""
    values = np.full((8, len(LOCKS)), -0.3)
    values[:6, best] = 0
    values[6:, (best + 1) % len(LOCKS)] = 0
    return knowledge.prior_of(values)


@pytest.mark.parametrize("name", searches.SEARCHES)
def test_a_search_finds_the_best_lock(name: str) -> None:
    found = searches.SEARCHES[name](recorded(3), prior(3), 60, 20)
    assert found.shape == (60, 20)
    assert (found[-1] == 3).mean() >= 0.95


def test_a_right_prior_needs_fewer_runs_and_a_wrong_one_does_not_hide_the_best() -> None:
    program = recorded(3)
    first = [(searches.guided(program, prior(best), 30, 20) == 3).mean(axis=1) for best in (3, 0)]
    assert first[0][:6].mean() > first[1][:6].mean() + 0.3
    assert first[1][-1] >= 0.95


def test_a_search_without_knowledge_sees_no_difference_before_the_runs() -> None:
    found = searches.without_knowledge(recorded(3), prior(3), 3, 50)
    assert (found[0] == 3).mean() in (0.0, 1.0)  # the first run is of any lock
    assert not np.array_equal(found, searches.guided(recorded(3), prior(3), 3, 50))


def table(path: Path, machine_shift: int = 0) -> Path:
    """Write runs of six programs on 1 and 4 nodes."""
    lines = ["bench,node,strategy,throughput"]
    random = np.random.default_rng(machine_shift)
    for number, name in enumerate(("alpha", "alpha_ll", "beta", "gamma", "delta", "epsilon")):
        for nodes in (1, 4):
            for index, lock in enumerate(LOCKS):
                best = (number + machine_shift) % 3 == index % 3
                for _ in range(4):
                    value = (100.0 if best else 60.0) * random.normal(1, 0.02)
                    lines.append(f"{name},{nodes},{lock.replace('-', '_')},{value:.6g}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_versions_of_a_program_are_one_family() -> None:
    assert records.family("pca_ll") == records.family("pca")
    assert records.family("memcached-new") == records.family("memcached-old")
    assert records.family("radix") != records.family("radiosity")


def test_values_are_of_the_larger_counts(tmp_path: Path) -> None:
    rows = records.read_values([table(tmp_path / "m.csv")])
    assert {row.count for row in rows} == {4}
    assert len(rows) == 6
    for row in rows:
        assert max(row.values.values()) == 0
        assert min(row.values.values()) == pytest.approx(np.log(0.6), abs=0.05)


def test_the_files_of_a_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, other = table(tmp_path / "m.csv"), table(tmp_path / "o.csv", 1)
    request = Request(json_file=tmp_path / "r.json", html_file=tmp_path / "r.html")
    conduct.conduct(request, runs, [other], 5, tmp_path / "prior.csv")
    assert "guided" in capsys.readouterr().out
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["programs"][:2] == ["alpha", "alpha_ll"]
    assert set(document["searches"]) == set(searches.SEARCHES)
    for figures in (document, *document["searches"].values()):
        assert list(figures["success_after"]) == [str(n) for n in range(1, report.MOST + 1)]
        assert figures["success_after"]["100"] == 1
        assert figures["mean_loss_after"]["100"] < 0.05
    assert "uniform rounds" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "prior.csv").read_text().startswith("machine,program,count,")


def test_a_program_is_left_out_of_its_own_prior(tmp_path: Path) -> None:
    only = tmp_path / "only.csv"
    lines = table(tmp_path / "m.csv").read_text().splitlines()
    only.write_text("\n".join(line for line in lines if line.startswith(("bench", "alpha"))) + "\n")
    with pytest.raises(LockwrightError, match="besides alpha"):
        report.replay(only, [only], 2)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("bench,node,strategy,throughput\na,1,ttas,fast\n", "not a number"),
        ("bench,node,strategy,throughput\na,1,ttas,1\na,1,hmcs,1\na,1,clh,1\n", "lock-sensitive"),
        ("machine,bench,strategy,throughput\nx,a,ttas,1\ny,a,ttas,2\n", "runs of x, y"),
        ("bench,strategy\na,ttas\n", "no column is a metric"),
    ],
)
def test_other_runs_are_refused(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(LockwrightError, match=fault):
        report.replay(path, [], 2)
