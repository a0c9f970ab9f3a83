"""The nine bottlenecks of the papers (TOCS 2019), each a function of a profile's figures."""

import dataclasses

from lockwright.advise.advice import Diagnosis
from lockwright.advise.bottlenecks import contention, footprint, memory, scheduling
from lockwright.advise.profile_figures import ProfileFigures

ALL = (
    contention.high,
    contention.extreme,
    contention.trylock,
    contention.uncontended,
    scheduling.holder_preemption,
    scheduling.handover,
    footprint.page_clearing,
    footprint.fault_handler,
    memory.memory_contention,
)


MEASURABLE_BY_SAMPLING = frozenset({"high", "extreme"})
"""Bottlenecks that samples of a running process show: they have its waiters, but no calls."""


def diagnose(figures: ProfileFigures) -> tuple[Diagnosis, ...]:
    """Return all nine, whether they fired or not."""
    diagnoses = tuple(rule(figures) for rule in ALL)
    if figures.is_preloaded:
        return diagnoses
    return tuple(
        diagnosis
        if diagnosis.key in MEASURABLE_BY_SAMPLING
        else dataclasses.replace(diagnosis, fired=False, mutexes=(), measurable=False)
        for diagnosis in diagnoses
    )
