"""How fast a simulated program gets on with its work."""

from lockwright.simulate.figures import figures, integer, integers
from lockwright.simulate.model import Model, Role
from lockwright.simulate.run import Line

_MATTERS = 0.1
"""Least share of all sections of a role whose work can be what a program ends with."""


def rate(model: Model, line: Line) -> float:
    """Return the sections per second of a simulated program. model: with the simulated number of
    threads.

    Where roles depend on each other, as the stages of a pipeline, a program is done when the last
    role has done its part, in the proportions of the profile: the slowest role counts. Roles that
    mostly sleep wait for the others, so they are not what limits it."""
    leading = [(index, role) for index, role in enumerate(model.roles) if _leads(model, role)]
    if len(leading) < 1 or len(model.roles) == 1:
        return figures(line)["operations_per_second"]
    steps = steps_by_role(model, line)
    seconds = integer(line, "picoseconds") / 1e12
    total = sum(role.sections for role in model.roles)
    return total * min(steps[index] / role.sections for index, role in leading) / seconds


def _leads(model: Model, role: Role) -> bool:
    total = sum(each.sections for each in model.roles)
    return not role.follows and role.sections >= _MATTERS * total > 0


def steps_by_role(model: Model, line: Line) -> list[int]:
    """Return the steps of each role: threads are numbered role after role in turn, as in
    src/simulate/workload/modelled.cpp."""
    left = [role.threads for role in model.roles]
    steps = [0] * len(left)
    counts = iter(integers(line, "per_thread"))
    while any(left):
        for role, number in enumerate(left):
            if number:
                left[role] -= 1
                steps[role] += next(counts)
    return steps
