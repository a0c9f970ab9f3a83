"""Folded stacks, each with its weight on a line, the input of Brendan Gregg's flamegraph.pl."""

from lockwright.profile.record import Profile


def folded_stacks(profile: Profile) -> str:
    """Return the nanoseconds waited in each stack, outermost frame first, the mutex last."""
    lines: dict[str, int] = {}
    for mutex in profile.mutexes:
        for site in mutex.sites:
            names = [*(frame.label for frame in reversed(site.stack)), mutex.name]
            # A semicolon ends a frame, and the last space a stack.
            line = ";".join(" ".join(name.replace(";", ":").split()) for name in names)
            lines[line] = lines.get(line, 0) + round(site.waited)
    return "".join(f"{stack} {weight}\n" for stack, weight in lines.items() if weight > 0)
