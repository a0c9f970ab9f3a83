"""The table of the cases, and the shares of those that the advice gets right."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lockwright.base import numbers
from lockwright.experiment.columns import headings, term
from lockwright.experiment.report import Report, text_grid
from lockwright.stats.inference import Ratio

from lockwright_lab.bench.program_runs import SPEED
from lockwright_lab.corpus.case import Case
from lockwright_lab.corpus.replay import judged_in
from lockwright_lab.corpus.score import NEAR, Judged, is_near

COLUMNS = [
    term("case", "the name of its file."),
    term("threads", "that the program is told to use."),
    term("replayed", "the speed after the fix over that before it, the geometric mean."),
    term("95 % CI", "of that ratio, over the rounds."),
    term("lost", "the time waited for the first lock, of that in which threads ran or waited."),
    term("lock", "whether the lock with the most time lost is the one that was fixed."),
    term("drd", "with --drd: whether Valgrind's DRD reports most long sections for that lock."),
    term("fix", "what the maintainers did; - for a control, which has no bottleneck."),
    term("advised", "the kind of the first change that 'advise' prints; - for none."),
    term("right", "whether that is the fix, at that lock; of a control, whether none is printed."),
    term("predicted", "the gain of the first advised change that is the fix."),
    term("experiment", "by 'what-if --measure --no-waiting' on the version before, of that lock."),
    term(
        "near",
        f"whether the gain by experiment, else the predicted one, is within a factor of {NEAR:g} of"
        " the replayed one; - where that is not told apart from 1.",
    ),
]


@dataclass(frozen=True)
class Scores:
    """Over the cases and controls: the number of each, and of those that are right. shown: cases
    whose replayed ratio is told apart from 1; gains: of these, those with a near gain by experiment
    or prediction."""

    cases: int
    locks: int
    fixes: int
    shown: int
    gains: int
    controls: int
    silent: int


@dataclass(frozen=True)
class _Result:
    case: Case
    of: Judged
    ratio: Ratio | None

    @property
    def is_near(self) -> bool | None:
        """Whether the gain is near the replayed one; None where none is shown."""
        ratio = self.ratio
        if self.case.is_control or ratio is None or ratio.low is None or ratio.high is None:
            return None
        if ratio.low <= 1 <= ratio.high:
            return None
        return is_near(self.of.gain or self.of.predicted, ratio.value)


def made(usual: Report, cases: Mapping[str, Case], known: Mapping[str, Any]) -> Report:
    """Return the report. known: as of `judged_in`."""
    results = []
    problems = []
    for rows in usual.cells:
        case = cases[rows[0].of_cell.name]
        of = judged_in(known, case.name)
        if of.problem:
            problems.append(f"left out: {of.problem}")
        else:
            results.append(_Result(case, of, rows[1].paired(SPEED.name, SPEED.lower_is_better)))
    total = scores(results)
    return replace(
        usual,
        grids=[text_grid("The corpus", headings(COLUMNS), [_line(each) for each in results])],
        legend=[(each.heading, each.definition) for each in COLUMNS],
        remarks=[*_sentences(total), *usual.remarks],
        failures=[*problems, *usual.failures],
        more={"cases": [_as_json(each) for each in results], "scores": asdict(total)},
    )


def scores(results: Sequence[_Result]) -> Scores:
    """Return the numbers of what is right."""
    cases = [each for each in results if not each.case.is_control]
    controls = [each for each in results if each.case.is_control]
    return Scores(
        len(cases),
        sum(each.of.is_right for each in cases),
        sum(each.of.is_right_fix for each in cases),
        sum(each.is_near is not None for each in cases),
        sum(bool(each.is_near) for each in cases),
        len(controls),
        sum(each.of.is_silent for each in controls),
    )


def _line(each: _Result) -> list[str]:
    case, of = each.case, each.of
    is_right = of.is_silent if case.is_control else of.is_right_fix
    return [
        case.name,
        str(case.threads),
        "-" if each.ratio is None else numbers.ratio(each.ratio.value),
        "-" if each.ratio is None else numbers.interval(each.ratio.low, each.ratio.high),
        numbers.percent(of.lost),
        "-" if case.is_control else _yes(of.is_right),
        of.drd or "-",
        " or ".join(case.fix) or "-",
        of.change or "-",
        _yes(is_right),
        "-" if of.predicted is None else numbers.ratio(of.predicted),
        "-" if of.gain is None else numbers.ratio(of.gain),
        "-" if each.is_near is None else _yes(each.is_near),
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _sentences(of: Scores) -> list[str]:
    def part(count: int, whole: int) -> str:
        share = f" ({numbers.percent(count / whole)})" if whole else ""
        return f"{count} of {whole}{share}"

    return [
        f"The lock that was fixed is first in {part(of.locks, of.cases)} cases.",
        f"The kind of the fix is advised first in {part(of.fixes, of.cases)} cases.",
        f"The replayed ratio is told apart from 1 in {part(of.shown, of.cases)} cases, and the"
        f" gain by experiment, or the predicted one, is within a factor of {NEAR:g} of it in"
        f" {part(of.gains, of.shown)}.",
        f"Nothing is advised in {part(of.silent, of.controls)} controls.",
    ]


def _as_json(each: _Result) -> dict[str, Any]:
    case, ratio = each.case, each.ratio
    return {
        "case": case.name,
        "source": case.source,
        "claimed": case.claimed,
        "threads": case.threads,
        "control": case.is_control,
        "lock": case.lock,
        "fix": list(case.fix),
        "replayed": None if ratio is None else ratio.value,
        "low": None if ratio is None else ratio.low,
        "high": None if ratio is None else ratio.high,
        "near": each.is_near,
        **asdict(each.of),
    }
