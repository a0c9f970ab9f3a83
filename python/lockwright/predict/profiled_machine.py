"""Whether a profile is from this machine."""

from lockwright.machine import provenance
from lockwright.profile.record import Profile

_SAME = ("machine", "cpu", "kernel")


def is_this(profile: Profile) -> bool:
    """Return whether the profile is from a machine with this one's processors and kernel."""
    facts = provenance.machine()
    return all(facts.get(name) == profile.provenance.get(name) for name in _SAME)
