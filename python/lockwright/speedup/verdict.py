"""What experiments found, in sentences."""

from lockwright.advise.measured import limits_nothing
from lockwright.base import numbers
from lockwright.base.wording import counted
from lockwright.speedup.choice import Subject
from lockwright.speedup.measure import Curve, Measured
from lockwright.speedup.windows import NO_WAITS, READERS, Gain, is_shorter, name
from lockwright.stats.inference import Ratio

SHORT = 8e3
"""Ns of a section about as long as a sleep and a wake of a thread take, futex calls included."""


def sentence(measured: Measured) -> str:
    """Return what shorter sections gain; of several mutexes, which one's gain most."""
    if len(measured.curves) == 1:
        return _of_one(measured, measured.curves[0])
    share = _common_share(measured)
    known = {
        curve.subject.mutex: found for curve in measured.curves if (found := _at(curve, share))
    }
    ranked = sorted(known, key=lambda name: -known[name].value)
    gaining = [name for name in ranked if _gains(known[name])]
    parts = [_part(name, known[name]) for name in ranked if name not in gaining[:1]]
    parts += [
        f"none could be measured of {curve.subject.mutex}, whose sections take nearly all time"
        for curve in measured.curves
        if curve.subject.mutex not in known and not curve.subject.only_waits
    ]
    for curve in measured.curves:
        parts += _others(curve, curve.subject.mutex, share)
    if not gaining:
        what = {NO_WAITS: "no waits"}.get(share, name(share))
        return f"No gain was found of {what}: {'; '.join(parts)}."
    best = known[gaining[0]]
    others = {
        NO_WAITS: f"No waits for {gaining[0]} gain most:",
        READERS: f"Readers of {gaining[0]} together gain most:",
    }
    start = others.get(share, f"Shorter sections of {gaining[0]} gain most: {share} % shorter,")
    gain = f"{numbers.ratio(best.value)} times ({numbers.interval(best.low, best.high)})"
    return f"{'; '.join([f'{start} {gain}', *parts])}."


def _others(curve: Curve, lock: str, but: int) -> list[str]:
    """Return what the program gains without waits for a lock and with its readers together, where
    that was measured. lock: its name; "" if it was named. but: a share to leave out."""
    names = {
        NO_WAITS: f"without waits for {lock or 'it'}",
        READERS: f"with readers of {lock} together" if lock else "with its readers together",
    }
    return [
        f"{names[share]}, {numbers.ratio(found.value)} times"
        f" ({numbers.interval(found.low, found.high)})"
        for share in names
        if share != but and (found := _at(curve, share)) is not None
    ]


def _common_share(measured: Measured) -> int:
    """Return the share at which most mutexes have a gain: the largest of these; NO_WAITS if nothing
    else was measured."""
    shares = [each.share for curve in measured.curves for each in curve.gains if each.ratio]
    shares = [share for share in shares if is_shorter(share)] or shares
    return max(shares, key=lambda share: (shares.count(share), share), default=0)


def _at(curve: Curve, share: int) -> Ratio | None:
    return next((each.ratio for each in curve.gains if each.share == share), None)


def _gains(ratio: Ratio) -> bool:
    return ratio.low is not None and ratio.low > 1


def _part(name: str, ratio: Ratio) -> str:
    interval = numbers.interval(ratio.low, ratio.high)
    if limits_nothing(ratio.low, ratio.high):
        return f"{name} limits nothing ({interval} times)"
    doubt = "" if _gains(ratio) else ", which is no proof of any"
    return f"of {name}, {numbers.ratio(ratio.value)} times ({interval}{doubt})"


def _of_one(measured: Measured, curve: Curve) -> str:
    mutex = curve.subject.mutex
    found = _strongest([each for each in curve.gains if is_shorter(each.share)] or curve.gains)
    if found is None or found.ratio is None:
        return f"No gain could be measured: nearly all time is in sections of {mutex}."
    ratio = found.ratio
    interval = numbers.interval(ratio.low, ratio.high)
    what = "the program" if measured.is_whole else curve.subject.progress
    verb, often = ("be", "fast") if measured.is_whole else ("be taken", "often")
    change = f"With sections of {mutex} {found.share} % shorter"
    if not is_shorter(found.share):
        others = {
            NO_WAITS: f"Without waits for {mutex}",
            READERS: f"With readers of {mutex} together",
        }
        change = others.get(found.share, f"With {counted(-found.share, 'thread')}")
    start = f"{change}, {what} would {verb}"
    if limits_nothing(ratio.low, ratio.high):
        end = f": {mutex} limits nothing." if is_shorter(found.share) else "."
        return f"{start} as {often} as now ({interval} times){end}"
    parts = [f"{start} {numbers.ratio(ratio.value)} times as {often} ({interval})"]
    parts += _others(curve, "", found.share)
    parts += [] if _gains(ratio) else ["which is no proof of a gain: let it run longer"]
    return f"{'; '.join(parts)}."


def _strongest(found: list[Gain]) -> Gain | None:
    """Return the gain of the largest share that has one; of numbers of threads, the greatest."""
    known = [each for each in found if each.ratio is not None]
    if any(each.share < 0 for each in known):
        return max(known, key=lambda each: each.ratio.value if each.ratio else 0.0)
    return known[-1] if known else None


def notes(measured: Measured) -> list[str]:
    """Return how it was measured, at what cost, and what to beware of."""
    each, run = ("runs", "runs") if measured.is_whole else ("windows", "run")
    several = len(measured.curves) > 1
    counts = [
        f"{len(curve.rounds)} {each} of about {numbers.time(_mean_length(curve))} for each share"
        + (f" of {curve.subject.mutex}" if several else "")
        for curve in measured.curves
    ]
    lines = [
        f"Measured in {', '.join(counts)}. The delays of the experiments made the {run}"
        f" {numbers.percent(max(0.0, measured.overhead))} longer.",
        *measured.problems,
    ]
    if measured.plain is not None:
        interval = numbers.interval(measured.plain.low, measured.plain.high)
        lines[0] += (
            f" Runs without the library are {numbers.ratio(measured.plain.value)} times as fast as"
            f" the controls ({interval})."
        )
    subjects = [curve.subject for curve in measured.curves]
    if len({each.progress for each in subjects}) > 1:
        lines.append(
            "Each gain is in the rate of that mutex; --progress compares all by one mutex."
        )
    if any(gain.is_limited for curve in measured.curves for gain in curve.gains):
        lines.append(
            "Some gains are what the processors can do: there are more threads than these."
        )
    return [*lines, *(_of_short(each) for each in subjects if each.section < SHORT)]


def _mean_length(curve: Curve) -> float:
    windows = [window.ns for each in curve.rounds for window in each.values()]
    return sum(windows) / len(windows)


def _of_short(subject: Subject) -> str:
    return (
        f"Sections of {subject.mutex} last {numbers.time(subject.section)} on average, no longer"
        " than a thread takes to wake up: if shorter ones spare threads to fall asleep, they gain"
        " more."
    )
