"""All figures of a study."""

from dataclasses import dataclass
from itertools import chain

from lockwright_lab.study.analysis import Analysis
from lockwright_lab.study.dataset import DataSet
from lockwright_lab.study.report import machine_figures, metric_figures, program_page
from lockwright_lab.study.report.plots import Figure


@dataclass(frozen=True)
class Figures:
    """The figures of a study. of_part: by the name of a machine and metric. of_machine: those about
    two metrics, by machine. of_program: by the name of machine and metric, and by application.
    latencies: by application."""

    of_part: dict[str, list[Figure]]
    of_machine: dict[str, list[Figure]]
    of_program: dict[tuple[str, str], Figure]
    latencies: dict[str, list[Figure]]

    @property
    def study(self) -> list[Figure]:
        """The figures about many applications."""
        return list(chain(*self.of_part.values(), *self.of_machine.values()))

    @property
    def programs(self) -> list[Figure]:
        """The figures about single applications."""
        return [*self.of_program.values(), *chain(*self.latencies.values())]


def figures(data: DataSet, analysis: Analysis, baseline: str) -> Figures:
    """Return every figure that the data allow."""
    of_part = {part.name: list(metric_figures.figures_of_part(part)) for part in analysis.parts}
    of_program = {
        (part.name, name): program_page.figure(part, name)
        for part in analysis.parts
        for name in part.cells.applications
    }
    of_machine = {
        machine: [
            *machine_figures.energy_figures(data, machine),
            *machine_figures.latency_figures(data, machine, baseline),
        ]
        for machine in data.machines
    }
    for frame in data.validations():
        group_of_machine = of_machine.setdefault(str(frame.machine.iloc[0]), [])
        group_of_machine += machine_figures.validation_figures(data, frame)
    filled = {machine: group for machine, group in of_machine.items() if group}
    latencies = {
        name: [
            figure
            for machine in data.machines
            if (figure := machine_figures.latency_of_program(data, machine, baseline, name))
        ]
        for _, name in of_program
    }
    return Figures(of_part, filled, of_program, latencies)
