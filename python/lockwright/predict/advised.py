"""The predicted gains of the changes that `lockwright advise` proposes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright import advise
from lockwright.advise.thresholds import FAULT_NS
from lockwright.base import numbers
from lockwright.base.errors import LockwrightError
from lockwright.calibrate import machine_file
from lockwright.predict import changes as kinds
from lockwright.predict import profiled_machine, what_if
from lockwright.predict.changes import Change
from lockwright.predict.choose import CROWDED, TIMEOUT, Choice, of_models, quick
from lockwright.predict.header import Header
from lockwright.predict.prepare import prepare
from lockwright.predict.simulations import Progress, Settings
from lockwright.preload import locks
from lockwright.profile.record import Profile
from lockwright.simulate.machine import Machine, load
from lockwright.simulate.progress import simulations
from lockwright.simulate.run import program

SECTION = 0.5
"""The predicted length of shorter sections, as a share of the present one."""

SHARDS = 8
"""The predicted number of mutexes instead of one."""

BATCH = 8
"""The predicted number of sections for each acquisition, where fewer acquisitions are advised."""

EQUAL = 1.05
"""The factor within which two gains count as equal."""

_CHANGES = 6
"""Most changes that are simulated: those of the most costly mutexes."""


@dataclass(frozen=True)
class _Proposal:
    """A change to simulate. of: its index in the advice; text: what is simulated."""

    of: int
    kind: str
    text: str
    change: Change


def advise_here(profile: Profile, size: int | None = None) -> advise.Advice:
    """Return the advice with the locks that gain on this machine and the predicted gain of each
    change, or with the reason why nothing can be predicted. size: most locks."""
    advice = advise.advise(profile, size=size)
    if not advice.changes and not advice.lock_may_gain:
        return advice
    try:
        program()
        path = machine_file.default_path()
        if not path.exists():
            raise LockwrightError(
                "this machine is not described",
                "'lockwright calibrate --machine-file here' does it",
            )
        machine = load(str(path))
    except LockwrightError as error:
        return _unpredicted(profile, f"{error.what}; {error.todo}", size)
    is_own = profiled_machine.is_this(profile)
    return with_gains(profile, advice, machine, is_own, TIMEOUT, simulations, size)


def _unpredicted(profile: Profile, why: str, size: int | None) -> advise.Advice:
    advice = advise.advise(profile, size=size, unsimulated=why)
    return replace(advice, predicted=advise.Gains(reason=why))


def with_gains(
    profile: Profile,
    advice: advise.Advice,
    machine: Machine,
    is_own: bool,
    timeout: float,
    progress: Progress,
    size: int | None = None,
) -> advise.Advice:
    """Return the advice with the locks that gain, and its changes in the order of their gains.
    machine: that of the prediction; is_own: the profile is from there; timeout: seconds of each
    simulation; size: most locks.

    Where nothing can be predicted, the advice has the reason."""
    settings = quick(timeout, progress)
    try:
        header = prepare(profile, machine, machine if is_own else None, settings)
        if advice.lock_may_gain:
            chosen = [_candidate(each) for each in of_models(profile, header, settings)]
            advice = advise.advise(profile, size=size, chosen=chosen, refusal=header.misfit)
        gains = _of_changes(profile, advice, header, settings)
        if header.misfit:
            gains = [_unreliable(gain) for gain in gains]
    except LockwrightError as error:
        return _unpredicted(profile, error.what, size)
    every = sorted([*_of_locks(advice), *gains], key=lambda each: -(each.throughput or 0.0))
    notes, warnings = tuple(header.notes), tuple(header.warnings)
    found = advise.Gains(tuple(every), machine.title, notes, warnings=warnings)
    return _sorted(advice, found, not header.misfit)


def _unreliable(gain: advise.Gain) -> advise.Gain:
    """Return a gain without its figures, if it is simulated: a model that does not fit the profile
    must neither rank a change nor hide it."""
    if gain.low is None:
        return gain
    why = "the model does not fit the profile"
    return replace(gain, throughput=None, low=None, high=None, reason=why)


def _candidate(choice: Choice) -> advise.Candidate:
    low, high = numbers.ratio(choice.low), numbers.ratio(choice.high)
    between = f" ({low} to {high})" if low != high else ""
    reason = (
        f"predicted {numbers.ratio(choice.gain)} times{between}, and"
        f" {numbers.ratio(choice.gain_crowded)} with {CROWDED} times the threads"
    )
    return advise.Candidate(
        choice.name,
        reason,
        locks.registry().find(choice.name).survives_oversubscription,
        choice.gain,
        choice.low,
        choice.high,
        choice.gain_crowded,
    )


def _of_locks(advice: advise.Advice) -> list[advise.Gain]:
    return [
        advise.Gain(advise.ANOTHER_LOCK, None, each.lock, each.gain, each.low, each.high)
        for each in advice.shortlist
        if each.gain is not None
    ]


def _of_changes(
    profile: Profile, advice: advise.Advice, header: Header, settings: Settings
) -> list[advise.Gain]:
    proposals, gains = _proposals(profile, advice, header.derived.indices)
    if not proposals:
        return gains
    effects = what_if.predict(header, [proposal.change for proposal in proposals], settings)
    by_change = {each.change: each for each in effects}
    return [*gains, *(_gain(each, by_change[each.change]) for each in proposals)]


def _gain(proposal: _Proposal, effect: what_if.Effect) -> advise.Gain:
    kind, index, text = proposal.kind, proposal.of, proposal.text
    found = effect.throughput
    if found is None:
        return advise.Gain(kind, index, text, None, reason=effect.failure)
    return advise.Gain(kind, index, text, found.value, found.low, found.high)


def _proposals(
    profile: Profile, advice: advise.Advice, indices: Sequence[int]
) -> tuple[list[_Proposal], list[advise.Gain]]:
    """Return the changes to simulate, and the gains of those that no model has. indices: of the
    model's mutexes in the profile."""
    proposals: list[_Proposal] = []
    others: list[advise.Gain] = []
    for index, change in enumerate(advice.changes):
        simulated = _simulated(profile, change, indices)
        if simulated is not None and len(proposals) < _CHANGES:
            proposals.append(_Proposal(index, change.kind, *simulated))
        else:
            others.append(_not_simulated(profile, index, change))
    return proposals, others


def _simulated(
    profile: Profile, change: advise.Change, indices: Sequence[int]
) -> tuple[str, Change] | None:
    """Return the text and the change of the model; None where the model lacks what is changed."""
    if change.kind == "fewer threads":
        threads = profile.process.processors
        return f"with {threads} threads", kinds.thread_count(threads)
    if change.kind == "batch":
        return f"with one acquisition for {BATCH} sections", kinds.batch(BATCH)
    if change.mutex is None or change.mutex not in indices:
        return None
    number = list(indices).index(change.mutex)
    name = profile.mutexes[change.mutex].name
    match change.kind:
        case "smaller section":
            shorter = kinds.section(number, name, SECTION, moved=True)
            return "with sections half as long", shorter
        case "sharding":
            return f"with {SHARDS} mutexes", kinds.shards(number, name, SHARDS)
        case "atomic":
            return "with an atomic variable", kinds.atomic(number, name)
        case "lock":
            return "without trylocks", kinds.waits(number, name)
        case _:
            return None


def _not_simulated(profile: Profile, index: int, change: advise.Change) -> advise.Gain:
    """Return the gain of a change that no model has: what the profile states that it saves."""
    gain, text = _saved(profile, change.kind)
    if gain is None:
        return advise.Gain(change.kind, index, "", None, reason="the model lacks it")
    return advise.Gain(change.kind, index, text, gain)


def _saved(profile: Profile, kind: str) -> tuple[float | None, str]:
    """Return the gain of a change by the time of the profile that it saves, and that in words."""
    process = profile.process
    match kind:
        case "reuse":
            return process.cpu / max(1.0, process.cpu_user), "without time in the kernel"
        case "parallel creation":
            clearing = min(0.5, process.minor_faults * FAULT_NS / max(1.0, process.duration))
            left = 1 - clearing * (1 - 1 / process.processors)
            return 1 / left, "with pages cleared on all processors"
        case "poll":
            used = process.cpu / max(1.0, process.duration)
            threads = min(float(process.processors), process.threads_mean)
            return max(1.0, threads / max(used, 0.1)), "without sleeping"
        case _:
            return None, ""


def _sorted(advice: advise.Advice, gains: advise.Gains, fits: bool) -> advise.Advice:
    """Return the advice with its changes in the order of the gains. A change precedes one of the
    rules before it only if it gains more than the margin within which two count as equal, and one
    whose gain is not known, only by such a gain of its own. fits: whether the model does; else the
    order of the rules stays."""
    known = {gain.change: gain.throughput for gain in gains.gains}
    order: list[int] = []
    for index in range(len(advice.changes)):
        place = len(order)
        while fits and place and _rank(known, index) > EQUAL * _rank(known, order[place - 1]):
            place -= 1
        order.insert(place, index)
    numbers = {old: new for new, old in enumerate(order)}
    return replace(
        advice,
        changes=tuple(advice.changes[old] for old in order),
        predicted=replace(
            gains,
            gains=tuple(
                gain if gain.change is None else replace(gain, change=numbers[gain.change])
                for gain in gains.gains
            ),
        ),
    )


def _rank(gains: Mapping[int | None, float | None], change: int) -> float:
    return gains.get(change) or 1.0
