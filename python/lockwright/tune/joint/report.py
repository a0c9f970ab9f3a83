"""The report on a joint search, and its JSON and CSV files."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lockwright.compare import export, warnings
from lockwright.compare.report import Report
from lockwright.compare.store import Comparison
from lockwright.compare.verdict import Verdict
from lockwright.run.record import Record
from lockwright.tune import report as races
from lockwright.tune.joint import verdict
from lockwright.tune.joint.search import LOCKS, Result, Search
from lockwright.tune.joint.verdict import Worth
from lockwright.tune.preparation import FACTS, Preparation

SCHEMA = 1
"""Increased when a field of the JSON file is removed or changes its meaning."""


@dataclass(frozen=True)
class Race:
    """A race as it was carried out. ending: a reason of lockwright.tune.race."""

    comparison: Comparison
    records: Sequence[Record]
    result: Result
    ending: int


@dataclass(frozen=True)
class JointReport:
    """The report. races: those that were begun, that of locks first; search: None if it did not
    begin; left_out: what was not tried, with the reasons; verdict: on the whole search;
    is_complete: False if it was interrupted; instead: a line that does without Lockwright."""

    title: str
    races: Sequence[Race]
    search: Search | None
    left_out: Sequence[str]
    worth: Sequence[Worth]
    verdict: Verdict
    is_complete: bool
    instead: str | None = None

    @property
    def first(self) -> Comparison:
        """The comparison of locks, which has the plan and the machine."""
        return self.races[0].comparison

    @property
    def warnings(self) -> list[str]:
        """The warnings on all races, each with the name of its race."""
        return [
            f"{race.result.stage.name}: {text}"
            for race in self.races
            for text in warnings.collect(race.comparison.plan, race.records)
        ]


def make(
    title: str,
    done: Sequence[Race],
    search: Search | None,
    left_out: Sequence[str],
    is_complete: bool,
) -> JointReport:
    """Return the report on the races. search: with their results."""
    locks = done[0]
    plan = locks.comparison.plan
    ending = {locks.result.outcome.threads: locks.ending}
    alone = races.make_report(locks.comparison, title, locks.records, ending).verdict
    if search is None:
        text = f"Stopped in the race of {LOCKS}, before any combination was tried. {alone.sentence}"
        return JointReport(title, done, None, left_out, [], Verdict(text, None), is_complete)
    verdict_ = verdict.decide(plan, search, alone)
    if not is_complete and verdict.recommended(search) is None:
        name = done[-1].result.stage.name
        verdict_ = Verdict(f"Stopped in the race '{name}': nothing is shown so far.", None)
    chosen = verdict.recommended(search)
    threads = locks.result.outcome.threads
    instead = verdict.line_without_lockwright(plan, chosen, threads) if chosen else None
    rows = verdict.worth(search, locks.result)
    return JointReport(title, done, search, left_out, rows, verdict_, is_complete, instead)


def _parts(report: JointReport) -> list[Report]:
    """Return the report on each race, in the form of a comparison's."""
    return [
        Report(
            race.comparison,
            race.result.stage.name,
            race.records,
            [race.result.outcome.rows],
            warnings.collect(race.comparison.plan, race.records),
            report.verdict,
        )
        for race in report.races
    ]


def to_json(report: JointReport) -> str:
    """Return the search as JSON: the conclusion, then each race with its runs."""
    preparation = Preparation.from_facts(report.first.provenance)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "title": report.title,
        "complete": report.is_complete,
        "verdict": asdict(report.verdict),
        "without_lockwright": report.instead,
        "best_lock_alone": report.search.base.lock if report.search else None,
        "recommended": None,
        "worth": [each.as_json() for each in report.worth],
        "left_out": list(report.left_out),
        FACTS: asdict(preparation),
        "races": [],
    }
    chosen = verdict.recommended(report.search) if report.search else None
    if chosen is not None:
        document["recommended"] = chosen.as_facts()
    for race, part in zip(report.races, _parts(report), strict=True):
        content = json.loads(export.to_json(part))
        del content["verdict"], content["schema"], content["metered"]
        content["reference"] = race.result.stage.reference.name
        content["arms"] = {arm.name: arm.as_facts() for arm in race.result.stage.arms}
        content["ended"] = races.ENDINGS[race.ending]
        document["races"].append(content)
    return json.dumps(document, indent=2) + "\n"


def to_csv(report: JointReport) -> str:
    """Return a line for each run, as of a comparison, with its race in the first column."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, part in enumerate(_parts(report)):
        heading, *rows = csv.reader(io.StringIO(export.to_csv(part)))
        if number == 0:
            writer.writerow(["race", *heading])
        writer.writerows([part.title, *row] for row in rows)
    return text.getvalue()
