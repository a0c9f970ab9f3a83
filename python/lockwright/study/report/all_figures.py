"""All figures of a study."""

from collections.abc import Iterator
from dataclasses import dataclass

from lockwright.study.analysis import Analysis
from lockwright.study.dataset import DataSet
from lockwright.study.report import machine_figures, metric_figures, program_page
from lockwright.study.report.plots import Figure


@dataclass(frozen=True)
class Figures:
    """The figures of a study.

    of_part: by the name of a machine and metric. of_machine: those about two metrics. of_program:
    by that name and application. latencies: by application.
    """

    of_part: dict[str, list[Figure]]
    of_machine: dict[str, list[Figure]]
    of_program: dict[tuple[str, str], Figure]
    latencies: dict[str, list[Figure]]

    def study(self) -> Iterator[Figure]:
        """The figures about many applications."""
        for group in (*self.of_part.values(), *self.of_machine.values()):
            yield from group

    def latency_of(self, application: str) -> list[Figure]:
        """The latency figures of an application, one for each machine."""
        return self.latencies.get(application, [])

    def programs(self) -> Iterator[Figure]:
        """The figures about single applications."""
        yield from self.of_program.values()
        for group in self.latencies.values():
            yield from group


def figures(data: DataSet, found: Analysis, baseline: str) -> Figures:
    """Every figure that the data allow."""
    of_part = {part.name: list(metric_figures.of_part(part)) for part in found.parts}
    of_program = {
        (part.name, name): program_page.figure(part, name)
        for part in found.parts
        for name in part.whole.applications
    }
    of_machine: dict[str, list[Figure]] = {}
    latencies: dict[str, list[Figure]] = {}
    for machine in data.machines:
        of_machine[machine] = [
            *machine_figures.of_energy(data, machine),
            *machine_figures.of_latency(data, machine, baseline),
        ]
        for name in sorted({name for part in found.parts for name in part.whole.applications}):
            one = machine_figures.latency_of_program(data, machine, baseline, name)
            if one is not None:
                latencies.setdefault(name, []).append(one)
    for frame in data.validations():
        own = of_machine.setdefault(str(frame.machine.iloc[0]), [])
        own += machine_figures.of_validation(data, frame)
    filled = {machine: group for machine, group in of_machine.items() if group}
    return Figures(of_part, filled, of_program, latencies)
