"""The models that agree best with a profile: the variation of gaps by the profile's contention, and
their mean by its rate."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from lockwright.predict.derive import Derived, Variant, label_of
from lockwright.predict.estimate import Estimate, estimate
from lockwright.predict.profiled_machine import kernel_factor, with_kernel_costs
from lockwright.predict.simulations import STEPS, Point, Progress, job, simulate, unseen
from lockwright.simulate.figures import BASELINE, figures, integer
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import Buckets, Model, gamma, mean, scaled
from lockwright.simulate.run import Cell, Line

VARIATIONS = (0.0, 0.5, 1.0, 2.0)
"""Coefficients of variation of the gaps between which a profile can decide."""

_SCALES = (0.6, 0.8, 1.0)
"""Factors of the mean gap that are tried where much time is lost waiting: it then contains what the
profile cannot tell from the wakes."""

_LOST = 0.05
"""Share of the time lost waiting from which that is much."""

_RATE = 3.0
"""How much more a deviation of the rate counts than the same of the contended share."""

_LEAST_CONTENDED = 0.001
"""Contended shares below it count as equal."""

_ALSO = 1.0
"""Largest distance at which a second variation of the gaps counts as agreeing with the profile."""

_NO_FACTOR = 1.1
"""Factor up to which the kernel's costs are those of the machine."""

_KERNEL_STEPS = 3
"""Simulations for that factor."""

_FARTHEST = 0.3
"""The mean of gaps changes by this share of a cycle at most."""


@dataclass(frozen=True)
class Fitted:
    """Models that agree with a profile. agreement: the simulated rate of the profile itself before
    the mean of the gaps was fitted, divided by the profiled one. machine: that of the profile, with
    the kernel's costs that it shows."""

    derived: Derived
    agreement: Estimate | None
    machine: Machine


@dataclass(frozen=True)
class _Trial:
    variation: float
    model: Model
    rates: tuple[float, ...]
    contended: float
    kernel_ns: float

    @property
    def rate(self) -> float:
        return sum(self.rates) / len(self.rates)


def fit(
    derived: Derived,
    machine: Machine,
    runs: int,
    seed: int,
    timeout: float,
    steps: int = STEPS,
    progress: Progress = unseen,
) -> Fitted:
    """Return the one or two models of different gaps whose contention is nearest to the profile's,
    and the nearest one with sections that change a cache line. machine: the one of the profile;
    steps: sections of each simulation."""
    scales = _SCALES if derived.lost_share >= _LOST else (1.0,)
    models = {
        (variation, scale): with_variation(derived.model, variation, scale)
        for variation in VARIATIONS
        for scale in scales
    }
    trials = _try(models, machine, runs, seed, timeout, steps, progress)
    if not trials:
        return Fitted(unfitted(derived), None, machine)
    usual = min(trials, key=lambda each: _distance(each, derived))
    costlier = _with_kernel_of(derived, usual, machine, seed, timeout, steps)
    if costlier is not machine:
        machine = costlier
        trials = _try(models, machine, runs, seed, timeout, steps, progress) or trials
    trials.sort(key=lambda each: _distance(each, derived))
    agreement = estimate([rate / derived.rate for rate in trials[0].rates])
    others = [each for each in trials if each.variation != trials[0].variation]
    nearest = [
        trials[0],
        *(each for each in others[:1] if _distance(each, derived) <= _ALSO),
    ]
    changed = {
        (each.variation, 1.0): _with_cycle(each.model, derived.rate, each.rate) for each in nearest
    }
    again = {
        each.variation: each
        for each in _try(changed, machine, runs, seed, timeout, steps, progress)
    }
    chosen = []
    for before in nearest:
        after = again.get(before.variation)
        is_nearer = after is not None and abs(after.rate - derived.rate) <= 0.5 * abs(
            before.rate - derived.rate
        )
        # Where the mutexes limit the rate, gaps have no influence on it.
        chosen.append(after if after is not None and is_nearer else before)
    variants = [Variant(label_of(each.variation), each.model, 0) for each in chosen]
    first = variants[0]
    variants.append(_with_data(first, derived, machine))
    return Fitted(replace(derived, variants=tuple(variants)), agreement, machine)


def unfitted(derived: Derived) -> Derived:
    """Return the models for a profile whose machine is not described: equal gaps, exponential ones,
    and sections that change a cache line."""
    variants = [
        Variant(label_of(each), with_variation(derived.model, each), 0) for each in (1.0, 0.0)
    ]
    variants.append(_with_data(variants[0], derived, None))
    return replace(derived, variants=tuple(variants))


def with_variation(model: Model, variation: float, scale: float = 1.0) -> Model:
    """Return the model with gaps of another coefficient of variation. scale: of their means."""
    return _with_gaps(model, lambda gap: gamma(scale * mean(gap), variation))


def _with_gaps(model: Model, change: Callable[[Buckets], Buckets]) -> Model:
    roles = tuple(structs.replace(role, gap=change(role.gap)) for role in model.roles)
    return structs.replace(model, roles=roles)


def _try(
    models: Mapping[tuple[float, float], Model],
    machine: Machine,
    runs: int,
    seed: int,
    timeout: float,
    steps: int,
    progress: Progress,
) -> list[_Trial]:
    """Simulate models with the threads of the profile under the C library's mutex."""
    jobs = {}
    for key, model in models.items():
        for number in range(runs):
            variant = Variant(label_of(key[0]), model, 0)
            point = Point(variant, machine, seed + number, variant.label)
            jobs[key, number] = job(point, model, Cell(BASELINE, model.threads), None, steps)
    outcomes = simulate(jobs, timeout, progress)
    trials = []
    for key, model in models.items():
        lines = [line for (of, _), line in outcomes.lines.items() if of == key]
        if lines:
            rates = tuple(figures(line)["operations_per_second"] for line in lines)
            contended, kernel = (
                sum(map(of, lines)) / len(lines) for of in (_contended, _kernel_ns)
            )
            trials.append(_Trial(key[0], model, rates, contended, kernel))
    return trials


def _kernel_ns(line: Line) -> float:
    """Return the time of threads in the kernel for each acquisition."""
    running = integer(line, "running_ps") - integer(line, "working_ps")
    running -= integer(line, "pausing_ps")
    return max(0, running) / 1000 / max(1, integer(line, "acquisitions"))


def _with_kernel_of(
    derived: Derived, trial: _Trial, machine: Machine, seed: int, timeout: float, steps: int
) -> Machine:
    """Return the machine with the kernel's costs that the profile shows. Threads that take longer
    to sleep sleep less often, so the factor is found in steps."""
    factor, of, costlier = 1.0, trial, machine
    for _ in range(_KERNEL_STEPS):
        factor = kernel_factor(factor, derived.kernel_ns, of.kernel_ns)
        if factor <= _NO_FACTOR:
            return machine
        costlier = with_kernel_costs(machine, factor)
        model = {(trial.variation, 1.0): trial.model}
        again = _try(model, costlier, 1, seed, timeout, steps, unseen)
        if not again:
            break
        of = again[0]
    return costlier


def _contended(line: Line) -> float:
    return integer(line, "contended") / max(1, integer(line, "acquisitions"))


def _distance(trial: _Trial, derived: Derived) -> float:
    """Return how far a trial is from the profile, in natural logarithms."""
    shares = [max(share, _LEAST_CONTENDED) for share in (trial.contended, derived.contended)]
    rates = [max(rate, 1.0) for rate in (trial.rate, derived.rate)]
    return abs(math.log(shares[0] / shares[1])) + _RATE * abs(math.log(rates[0] / rates[1]))


def _with_cycle(model: Model, profiled: float, simulated: float) -> Model:
    """Return the model with gaps such that its threads need as long for a cycle as in the profile,
    if they wait as long as in the simulation."""
    if not simulated or not profiled:
        return model
    difference = max(-_FARTHEST, min(_FARTHEST, simulated / profiled - 1))
    cycle = 1e9 * model.threads / simulated

    def change(gap: Buckets) -> Buckets:
        ns = mean(gap)
        return scaled(gap, max(0.0, ns + difference * cycle) / ns) if ns else gap

    return _with_gaps(model, change)


def _with_data(variant: Variant, derived: Derived, machine: Machine | None) -> Variant:
    """Return the variant in which each section changes a cache line. The profile's sections contain
    its transfer, which the simulator adds itself."""
    transfer = machine.figures.get("load.cache_ns", 0.0) if machine is not None else 0.0
    mutexes = tuple(
        structs.replace(each, section=_shortened(each.section, share * transfer))
        for each, share in zip(variant.model.mutexes, derived.owner_changes, strict=True)
    )
    label = f"{variant.label}, and each section changes a cache line"
    return Variant(label, structs.replace(variant.model, mutexes=mutexes), 1)


def _shortened(section: Buckets, ns: float) -> Buckets:
    length = mean(section)
    return scaled(section, max(0.0, length - ns) / length) if length else section
