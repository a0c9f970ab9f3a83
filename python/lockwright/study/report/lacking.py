"""What a study cannot say, for the lack of data."""

from collections.abc import Iterator, Sequence

from lockwright.study.dataset import DataSet
from lockwright.study.part import Part


def lacking(data: DataSet, parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """What is missing, and what would be needed."""
    pairs = {
        "Energy efficiency against throughput": ("throughput", "tpp"),
        "Tail latency against throughput": ("latency", "throughput"),
    }
    for what, (first, second) in pairs.items():
        without = [m for m in data.machines if data.paired(m, first, second) is None]
        if without:
            need = "power or energy" if "tpp" in (first, second) else "latency (a high percentile)"
            yield what, f"not measured on {', '.join(without)}: the runs have no {need}"
    if len(data.machines) == 1:
        yield "Changes between machines", f"all runs are on one machine, {data.machines[0]}"
    if not data.validations():
        yield (
            "Interposed locks against those written into the program",
            "no runs with a type of manual and interposed",
        )
    for part in parts:
        if part.changes is None:
            yield (
                f"{part.sample.title}: changes with the number of threads",
                "all runs are at one count"
                if part.sensitive.applications
                else "no application is shown to be lock-sensitive",
            )
