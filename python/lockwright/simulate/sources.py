"""The figures of a machine in words."""

from lockwright.simulate.machine import Machine


def _range(machine: Machine, name: str) -> str:
    if name not in machine.ranges:
        return ""
    low, high = machine.ranges[name]
    return f" ({low:g} to {high:g})"


def sources(machine: Machine) -> dict[str, str]:
    """Return the figures of each section of a machine, with their source."""
    texts = {}
    for section, source in machine.sources.items():
        values = [
            f"{name.partition('.')[2]} = {value:g}{_range(machine, name)}"
            for name, value in machine.figures.items()
            if name.startswith(f"{section}.")
        ]
        texts[section] = f"{', '.join(values)}. Source: {source}"
    return texts
