"""A finding about the machine."""

from dataclasses import dataclass

OK = "ok"
WARN = "warn"
ABSENT = "absent"


@dataclass(frozen=True)
class Finding:
    """The state of one property of the machine, and its effect on a measurement of locks.

    level: OK, WARN (it disturbs or prevents a measurement) or ABSENT (the machine lacks it or does
    not report it). found: the state. advice: the remedy, or "".
    """

    name: str
    level: str
    found: str
    effect: str
    advice: str = ""


@dataclass(frozen=True)
class Subject:
    """A property of the machine. effect: of a finding that does not name its own; advice: of one
    that is WARN."""

    name: str
    effect: str
    advice: str = ""

    def ok(self, found: str, effect: str = "") -> Finding:
        """Return a finding that disturbs nothing."""
        return Finding(self.name, OK, found, effect or self.effect)

    def warn(self, found: str, effect: str = "", advice: str = "") -> Finding:
        """Return a finding that disturbs or prevents a measurement."""
        return Finding(self.name, WARN, found, effect or self.effect, advice or self.advice)

    def absent(
        self, found: str = "the system does not report it", advice: str = "", effect: str = ""
    ) -> Finding:
        """Return the finding that the machine lacks it or does not report it."""
        return Finding(self.name, ABSENT, found, effect or self.effect, advice)
