"""Labels common to the formats: sources of frames, and names of threads."""

from lockwright.profile.record import Profile, Site, Span


def line_of(source: str) -> tuple[str, int]:
    """Return file and line of a source such as `table.cpp:84`; "" and 0 where unknown."""
    file, _, line = source.rpartition(":")
    return (file, int(line)) if file and line.isdigit() else (source, 0)


def thread_name(profile: Profile, thread: int) -> str:
    """Return the name of a thread of the timeline, with its number if others have the same name."""
    name = profile.thread_names.get(str(thread))
    if name is None:
        return f"thread {thread}"
    return name if list(profile.thread_names.values()).count(name) == 1 else f"{name} {thread}"


def site_of(profile: Profile, span: Span) -> Site | None:
    """Return the call site of a span; None if unknown."""
    sites = profile.mutexes[span.mutex].sites
    return sites[span.site] if 0 <= span.site < len(sites) else None


def site_name(profile: Profile, span: Span) -> str:
    """Return the label of a span's call site; "" if unknown."""
    return profile.mutexes[span.mutex].taken_at(span.site, span.kind == "hold")
