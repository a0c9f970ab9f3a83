"""Findings about page sizes, and the kernel's migration of pages during a measurement."""

import re

from lockwright.machine.finding import Finding, Subject
from lockwright.machine.processors import nodes
from lockwright.machine.procfs import Tree

_FILE = "/sys/kernel/mm/transparent_hugepage/enabled"

_HUGE = Subject(
    "huge pages",
    "some runs get huge pages and others do not, and a kernel thread merges pages meanwhile: the "
    "cost of sections that traverse memory varies from run to run",
    f"as root, echo madvise > {_FILE}",
)
_BALANCING = Subject(
    "NUMA balancing",
    "the kernel unmaps pages to observe their use, and migrates them: page faults inside sections "
    "that no lock has caused",
    "as root, sysctl kernel.numa_balancing=0",
)


def huge_pages(tree: Tree) -> Finding:
    """Return the finding about transparent huge pages."""
    match = re.search(r"\[(\w+)\]", tree.text(_FILE) or "")
    if match is None:
        return _HUGE.absent("this kernel has no transparent ones", effect="pages have one size")
    if match[1] == "always":
        return _HUGE.warn(match[1])
    return _HUGE.ok(match[1], "only memory for which a program requests them has huge pages")


def balancing(tree: Tree) -> Finding:
    """Return the finding about the kernel's migration of pages between NUMA nodes."""
    value = tree.number("/proc/sys/kernel/numa_balancing")
    if value is None:
        return _BALANCING.absent("this kernel has none", effect="no pages are migrated")
    if value and len(nodes(tree)) > 1:
        return _BALANCING.warn("on")
    return _BALANCING.ok("on, with one node" if value else "off", "no pages are migrated")
