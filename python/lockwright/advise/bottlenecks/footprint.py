"""Bottlenecks 7 and 8: what the memory of locks costs in the kernel's page-fault handler."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis
from lockwright.advise.evidence import all_met, at_least, at_most, informs
from lockwright.advise.seen import Seen

CLEARING = "clearing new pages in the fault handler"
FAULTS = "kernel lock in the fault handler"


def page_clearing(seen: Seen) -> Diagnosis:
    """7: one thread creates many mutexes at the start, whose pages the kernel has to clear."""
    creation = seen.process.creation
    known = creation.created > 0
    evidence = (
        at_least(
            "mutexes at one time",
            seen.instances,
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
            seen.fault_time,
            thresholds.FAULT_TIME,
            "share",
            f"estimated as {thresholds.FAULT_NS} ns for each; a hundredth can be seen",
        ),
    )
    return Diagnosis(
        key="page clearing",
        title=CLEARING,
        fired=all_met(evidence),
        evidence=evidence,
        mutexes=(),
        advice="a lock that needs no memory outside the mutex",
        measurable=known or seen.instances < thresholds.INSTANCES,
    )


def fault_handler(seen: Seen) -> Diagnosis:
    """8: many threads create mutexes and map memory all the time, and meet in the kernel."""
    process, creation = seen.process, seen.process.creation
    kernel = process.cpu_system / seen.cpu if seen.cpu else None
    evidence = (
        at_least(
            "mutexes created",
            seen.per_second(creation.created),
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
            seen.most_fault_time,
            thresholds.KERNEL_TIME,
            "share",
            f"{thresholds.FAULT_NS} ns for each without that; else the kernel's time is not theirs",
        ),
        at_least(
            "in the kernel, of the processor time",
            kernel,
            thresholds.KERNEL_TIME,
            "share",
            "in place of the fault handler's, of which dedup has 30 % (TOCS 2019)",
        ),
        informs("mappings made and removed", seen.per_second(process.mmap_calls), "1/s"),
    )
    return Diagnosis(
        key="fault handler",
        title=FAULTS,
        fired=all_met(evidence),
        evidence=evidence,
        mutexes=(),
        advice="a lock that needs no memory outside the mutex",
    )
