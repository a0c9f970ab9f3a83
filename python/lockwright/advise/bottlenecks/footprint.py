"""Bottlenecks 7 and 8: the cost of the locks' memory in the kernel's page-fault handler."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis
from lockwright.advise.evidence import all_met, at_least, at_most, informs
from lockwright.advise.profile_figures import ProfileFigures

CLEARING = "clearing new pages in the fault handler"
FAULTS = "kernel lock in the fault handler"


def page_clearing(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 7: one thread creates many mutexes early in the run, and the kernel has
    to clear their pages."""
    creation = figures.process.creation
    known = creation.created > 0
    evidence = (
        at_least(
            "mutexes at one time",
            # Which thread created a mutex is known only if a call initialised it.
            creation.alive_most if known else figures.instances,
            thresholds.INSTANCES,
            "",
            "the fewest that the papers call many (fmm, TOCS 2019)",
        ),
        at_least(
            "mutexes that one thread created",
            creation.by_most if known else None,
            thresholds.ONE_CREATOR,
            "share",
            "one thread creates them (TOCS 2019)",
        ),
        at_least(
            "mutexes created in the first tenth of the run",
            creation.early if known else None,
            thresholds.EARLY,
            "share",
            "at the start (TOCS 2019)",
        ),
        at_least(
            "page faults, of the processor time",
            figures.fault_time,
            thresholds.FAULT_TIME,
            "share",
            f"estimated as {thresholds.FAULT_NS} ns for each; 1 % is measurable",
        ),
    )
    return Diagnosis(
        key="page clearing",
        title=CLEARING,
        fired=all_met(evidence),
        evidence=evidence,
        mutexes=(),
        advice="a lock that needs no memory outside the mutex",
        measurable=known or figures.instances < thresholds.INSTANCES,
    )


def fault_handler(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 8: many threads create mutexes and map memory throughout the run, and
    contend for a lock of the kernel."""
    process, creation = figures.process, figures.process.creation
    kernel = process.cpu_system / figures.cpu_ns if figures.cpu_ns else None
    evidence = (
        at_least(
            "mutexes created",
            figures.per_second(creation.created),
            thresholds.CREATIONS,
            "1/s",
            "all the time (TOCS 2019)",
        ),
        at_most(
            "mutexes that one thread created",
            creation.by_most if creation.created else None,
            thresholds.ONE_CREATOR,
            "share",
            "all threads create them (TOCS 2019)",
        ),
        at_least(
            "page faults, of the processor time, if each waits for one on every other processor",
            figures.most_fault_time,
            thresholds.KERNEL_TIME,
            "share",
            f"{thresholds.FAULT_NS} ns for each without that; below, other calls dominate",
        ),
        at_least(
            "in the kernel, of the processor time",
            kernel,
            thresholds.KERNEL_TIME,
            "share",
            "in place of the fault handler's, of which dedup has 30 % (TOCS 2019)",
        ),
        informs("mappings made and removed", figures.per_second(process.mmap_calls), "1/s"),
    )
    return Diagnosis(
        key="fault handler",
        title=FAULTS,
        fired=all_met(evidence),
        evidence=evidence,
        mutexes=(),
        advice="a lock that needs no memory outside the mutex",
    )
