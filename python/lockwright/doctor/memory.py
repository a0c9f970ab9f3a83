"""Findings about page sizes, and the kernel's migration of pages during a measurement."""

import re

from lockwright.machine.finding import ABSENT, OK, WARN, Finding
from lockwright.machine.processors import nodes
from lockwright.machine.procfs import Tree

_HUGE = "/sys/kernel/mm/transparent_hugepage"


def huge_pages(tree: Tree) -> Finding:
    """Return the finding about transparent huge pages."""
    effect = (
        "some runs get huge pages and others do not, and a kernel thread merges pages meanwhile: "
        "the cost of sections that traverse memory varies from run to run"
    )
    match = re.search(r"\[(\w+)\]", tree.text(f"{_HUGE}/enabled") or "")
    if match is None:
        return Finding(
            "huge pages", ABSENT, "this kernel has no transparent ones", "pages have one size"
        )
    word = match[1]
    if word == "always":
        return Finding("huge pages", WARN, word, effect, f"as root, echo madvise > {_HUGE}/enabled")
    return Finding(
        "huge pages", OK, word, "only memory for which a program requests them has huge pages"
    )


def balancing(tree: Tree) -> Finding:
    """Return the finding about the kernel's migration of pages between NUMA nodes."""
    value = tree.number("/proc/sys/kernel/numa_balancing")
    effect = (
        "the kernel unmaps pages to observe their use, and migrates them: page faults inside "
        "sections that no lock has caused"
    )
    if value is None:
        return Finding("NUMA balancing", ABSENT, "this kernel has none", "no pages are migrated")
    if value and len(nodes(tree)) > 1:
        advice = "as root, sysctl kernel.numa_balancing=0"
        return Finding("NUMA balancing", WARN, "on", effect, advice)
    state = "on, with one node" if value else "off"
    return Finding("NUMA balancing", OK, state, "no pages are migrated")
