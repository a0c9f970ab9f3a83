"""Measurements: each is declared by a file in `measurements/`, which becomes an experiment.

A measurement runs a workload of the measuring program under contenders, mostly locks. The lists
among its options make its cells; its figures are columns of its tables.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.experiment import (
    Cell,
    Column,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Relative,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.stats.inference import median_interval
from lockwright.stats.spread import spread

from lockwright_lab.bench import runs
from lockwright_lab.bench.runs import Call, Common

_FOLDER = Path(__file__).parent / "measurements"


def _whole(value: float | str) -> float | str:
    """Return a whole number as such."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Option(Table, frozen=True, kw_only=True):
    """An option of a measurement; the type of its default is that of its value.

    default: a list makes a cell of each value; text: its help, for `seconds` and `warm-up` a note;
    least, most: of a number; among: the values of a list of words; metavar: of a number or a text.
    sets: the measuring program's option, by default of the same name; own: it has none, and the
    functions of the measurement use the value; cell: the name of a cell, a format of the value;
    each_core: the values of the list are multiplied by the number of processors; only_several: a
    single value of the list is no cell.
    """

    default: bool | int | float | str | list[float | str] | None = None
    text: str = ""
    least: float | None = None
    most: float | None = None
    among: list[str] = []  # noqa: RUF012
    metavar: str = "N"
    sets: str = ""
    own: bool = False
    cell: str = ""
    each_core: bool = False
    only_several: bool = False

    def values(self, chosen: Sequence[Any]) -> list[Any]:
        """Return the values of the cells, whole numbers as such."""
        if not self.each_core:
            numbers = (isinstance(each, float) and each.is_integer() for each in chosen)
            of_each = zip(chosen, numbers, strict=True)
            return list(
                dict.fromkeys(int(each) if is_whole else each for each, is_whole in of_each)
            )
        return sorted({max(1, round(factor * runs.processors())) for factor in chosen})


class Row(Table, frozen=True, kw_only=True):
    """A figure and its column.

    heading: by default the name without underscores; definition, unit, scale: as of `Figure`;
    lower: is better. value: as of `runs.field`, of the run of this name if two runs are made;
    to_libc: is divided by that of the run of libc beside it; of: is the quotient of two other
    figures; relative: is the quotient of this figure with that of libc, or of the first cell, in
    the same round. show: `spread`, `median`, `fixed 2`, `ratio`, `interval`, `max`, `min`, `sum`,
    `text` for a text that `Measurement.texts` makes, `none`, or names of figures that are joined.
    needs: own options of which one has to be given.
    """

    heading: str = ""
    definition: str = ""
    unit: str = ""
    scale: float = 1.0
    lower: bool = False
    value: str = ""
    run: str = ""
    to_libc: bool = False
    of: tuple[str, str] | None = None
    relative: str = ""
    to: str = "libc"
    show: str = "spread"
    needs: tuple[str, ...] = ()

    @property
    def is_figure(self) -> bool:
        """True if it is not computed from other figures of the contender."""
        return bool(self.value or self.of or self.relative)


class OfTable(Table, frozen=True):
    """A table. title: a format of the cell's name and the options; rows: names of figures, all
    without it; needs: as of `Row`."""

    title: str
    rows: list[str] = []  # noqa: RUF012
    needs: tuple[str, ...] = ()


class Declaration(Table, frozen=True, kw_only=True):
    """A declaration. summary, more: paragraphs of the help; terms: meanings of further terms in it,
    by a heading. locks: by default all; timeout: 0 for one by the length of a run; contender,
    meaning: the first column; main: the figure by which contenders are compared, by default the
    first; with_locks: whether they are locks; with_meters: whether the runs can have meters, and be
    of other libraries."""

    summary: str
    tables: list[OfTable]
    figures: dict[str, Row]
    terms: dict[str, dict[str, str]] = {}  # noqa: RUF012
    more: list[str] = []  # noqa: RUF012
    options: dict[str, Option] = {}  # noqa: RUF012
    rounds: int = 5
    locks: list[str] | None = None
    with_locks: bool = True
    with_meters: bool = True
    timeout: float = 30.0
    contender: str = "lock"
    meaning: str = "libc is the C library's mutex without a preloaded library."
    main: str = ""


def declaration(name: str) -> Declaration:
    """Return the declaration of the file of this name."""
    return documents.load(Declaration, _FOLDER / f"{name}.toml")


@dataclass(frozen=True)
class Given:
    """What a command was given. options: of the measuring program; own: of the measurement; cells:
    by the lists."""

    common: Common
    options: Mapping[str, Any]
    own: Mapping[str, Any]
    cells: Sequence[Cell]

    @property
    def contenders(self) -> list[Contender]:
        """The chosen locks."""
        return runs.contenders(self.common.chosen)

    def has(self, needs: Sequence[str]) -> bool:
        """Return True if one of these own options was given, or none is needed."""
        return not needs or any(self.own.get(name) for name in needs)


@dataclass(frozen=True)
class Measurement:
    """A measurement.

    name: of its file. texts: of columns with `show = "text"`, by their names. check: raises
    LockwrightError for options that do not go together, and may replace them. run, first,
    contenders, remarks: as of `Experiment`; title, order, has_row: of all tables; further: other
    fields of the experiment. explained: terms that the help defines besides, by a heading.
    declaration: None for that of the file.
    """

    name: str
    texts: Mapping[str, Callable[[Summary], str]] = field(default_factory=dict)
    check: Callable[[Given], Given] = lambda given: given
    run: Callable[[Call], Outcome] = lambda call: call.run()
    first: Callable[[], Mapping[str, Any]] = dict
    contenders: Callable[[Given], Sequence[Contender]] = lambda given: given.contenders
    remarks: Callable[[Sequence[Sequence[Summary]], Given], Sequence[str]] = lambda *_: ()
    title: Callable[[Cell], str] | None = None
    order: Callable[[Summary], float] = lambda _: 0.0
    has_row: Callable[[Summary], bool] = lambda _: True
    further: Mapping[str, Any] = field(default_factory=dict)
    explained: Callable[[], Mapping[str, Sequence[Column]]] = dict
    declaration: Declaration | None = None

    @cached_property
    def file(self) -> Declaration:
        """What its file declares."""
        return self.declaration or declaration(self.name)

    @property
    def columns(self) -> list[Column]:
        """All columns of its tables, those of equal headings once."""
        known = [self._first, *filter(None, map(self._column, self.file.figures))]
        return list({each.heading: each for each in known}.values())

    @property
    def terms(self) -> dict[str, Sequence[Column]]:
        """Further terms that its help defines, by their headings."""
        declared = self.file.terms.items()
        own = {heading: [make.term(*each) for each in of.items()] for heading, of in declared}
        return {**self.explained(), **own}

    @property
    def _first(self) -> Column:
        return make.name(self.file.contender, self.file.meaning)

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """The figures of a run."""
        return {
            name: self._figure(name) for name, row in self.file.figures.items() if row.is_figure
        }

    def _figure(self, name: str) -> Figure:
        row = self.file.figures[name]
        value = runs.field(row.value) if row.value else None
        if row.value and row.run:
            value = runs.of(row.run, runs.field(row.value))
        if row.to_libc:
            value = runs.to_libc(runs.field(row.value))
        if row.of is not None:
            above, below = (self._figure(each).value for each in row.of)
            assert above is not None
            assert below is not None
            value = runs.quotient(above, below)
        heading = row.heading or name.replace("_", " ")
        return Figure(name, row.unit, row.lower, row.definition, heading, row.scale, value)

    def _column(self, name: str) -> Column | None:
        row, figure = self.file.figures[name], self._figure(name)
        if row.show == "none":
            return None
        if row.show == "text":
            return Column(figure.heading, row.definition, self.texts[name])
        if row.show in _COLUMNS:
            return _COLUMNS[row.show](figure)
        if row.show.startswith("fixed "):
            return make.median(figure, make.fixed(int(row.show[-1])))
        parts = (make.median(self.figures[each]) for each in row.show.split())
        return Column(figure.heading, row.definition, make.joined(*parts))

    def given(self, common: Common, values: Mapping[str, Any]) -> Given:
        """Return the options of the measuring program, and the cells. values: of each option."""
        declared = self.file.options.items()
        named = {each.sets or name: (each, values[name]) for name, each in declared}
        found = {name: each.values(value) for name, (each, value) in named.items() if each.cell}
        lists = {
            name: of for name, of in found.items() if len(of) > 1 or not named[name][0].only_several
        }
        cells = []
        for combined in itertools.product(*lists.values()):
            of_cell = dict(zip(lists, combined, strict=True))
            names = (named[name][0].cell.format(value) for name, value in of_cell.items())
            cells.append(Cell(", ".join(names), of_cell))
        own = {name: value for name, (each, value) in named.items() if each.own}
        options = {
            name: int(value) if isinstance(value, bool) else value
            for name, (_, value) in named.items()
            if name not in found and name not in own
        }
        options |= {name: of[0] for name, of in found.items() if name not in lists}
        return self.check(Given(common, options, own, cells))

    def experiment(self, given: Given) -> Experiment:
        """Return the experiment."""
        known: dict[str, Any] = {}

        def run(cell: Cell, contender: Contender, number: int) -> Outcome:
            arguments = {**given.options, **known, **cell.options}
            limit = given.common.timeout
            return self.run(Call(contender, number, self.name, arguments, limit, given.own))

        def relative(name: str, figure: Figure) -> Figure:
            row = self.file.figures[name]
            if not row.relative:
                return figure
            other = {"contender": row.to} if row.to == "libc" else {"cell": given.cells[0].name}
            return replace(figure, relative=Relative(row.relative, **other))

        figures = {
            name: relative(name, each)
            for name, each in self.figures.items()
            if given.has(self.file.figures[name].needs)
        }
        main = figures.pop(self.file.main, None)
        settings = {**given.options, **given.own, "timeout": given.common.timeout}
        return Experiment(
            self.name,
            given.cells,
            self.contenders(given),
            [*([main] if main else []), *figures.values()],
            run,
            given.common.runs,
            tables=[self._table(each, given) for each in self.file.tables if given.has(each.needs)],
            first=self.first,
            known=known,
            settings=settings,
            help=f"lockwright bench {self.name} --help",
            what=self.file.contender,
            remarks=lambda cells: self.remarks(cells, given),
            **self.further,
        )

    def _table(self, table: OfTable, given: Given) -> TableOf:
        def title(cell: Cell) -> str:
            options = {**given.options, **given.own, "processors": runs.processors()}
            return table.title.format(cell=cell.name, **options)

        rows = self.file.figures
        names = [name for name in table.rows or rows if given.has(rows[name].needs)]
        columns = map(self._column, names)
        shown = [self._first, *filter(None, columns)]
        return TableOf(shown, self.title or title, self.has_row, self.order)


def _with_interval(figure: Figure) -> Column:
    """Return `median (low to high)` with the median's interval, without one `median`."""

    def text(row: Summary) -> str:
        values = list(row.by_round(figure.name).values())
        found = spread(values)
        if found is None:
            return "-"
        interval = median_interval(values)
        limits = "" if interval is None else f" ({interval[0]:.2f} to {interval[1]:.2f})"
        return f"{found.median:.2f}{limits}"

    return Column(figure.heading, figure.definition, text)


_COLUMNS: Mapping[str, Callable[[Figure], Column]] = {
    "spread": make.with_spread,
    "median": make.median,
    "ratio": make.own_ratio,
    "interval": _with_interval,
    "max": partial(make.extreme, of=max),
    "min": partial(make.extreme, of=min),
    "sum": partial(make.extreme, of=sum, show="{:,.0f}".format),
}
"""The makers of columns, by the words of `Row.show`."""


def bound(
    limit_of: Callable[[Summary], float | None], *, least: bool = False
) -> Callable[[Summary], str]:
    """Return the text on the figure `ratio`, compared with the largest allowed value, or the least;
    empty for rows without one."""

    def text(row: Summary) -> str:
        limit, ratio = limit_of(row), row.over_rounds("ratio")
        if limit is None or ratio is None:
            return ""
        is_met = ratio.median >= limit and not row.timeouts if least else ratio.median <= limit
        return f"{'>=' if least else '<='} {limit:.2f} {'holds' if is_met else 'MISSED'}"

    return text
