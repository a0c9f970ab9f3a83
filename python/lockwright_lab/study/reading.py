"""The reader of a study's files. Errors name the file and the line."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import pandas as pd
from lockwright.base.errors import LockwrightError

from lockwright_lab.study import comparison, lock_names, recorded, schema
from lockwright_lab.study.dataset import COUNT, UNFINISHED, DataSet, Source

_REQUIRED = (schema.APPLICATION, schema.LOCK)
_TODO = (
    "each file is a CSV with a heading line; 'lockwright study analyse --help' names the columns"
)


def read(paths: Sequence[Path], better: Mapping[str, str] | None = None) -> DataSet:
    """Return the data of files, and of all *.csv in directories. Raises LockwrightError for the
    first bad line. A file is CSV, or the SQLite file of `lockwright study run`. better: 'higher' or
    'lower' for metrics that are not known by name. A file without a column of machines is of one
    machine, named as the file; NAME-MORE.csv beside NAME.csv adds metrics to the machine NAME."""
    files = list(_files(paths))
    stems = [file.stem for file in files]
    notes: list[str] = []
    sources = []
    for file in files:
        if recorded.is_study_file(file):
            source, more = recorded.read(file)
            notes += more
        else:
            source = _read(file, _machine_of(file.stem, stems), dict(better or {}), notes)
        sources.append(source)
    for metric in better or {}:
        if not any(metric in source.metrics for source in sources):
            raise LockwrightError(f"no file has a column '{metric}'", "check --columns")
    return DataSet(tuple(sources), dict(better or {}), tuple(notes))


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise LockwrightError(f"there is no {path}", "name CSV files, or a directory of them")
        if not path.is_dir():
            yield path
            continue
        inside = sorted(path.glob("*.csv"))
        if not inside:
            raise LockwrightError(
                f"{path} has no *.csv in it", "name CSV files, or their directory"
            )
        yield from inside


def _machine_of(stem: str, stems: Sequence[str]) -> str:
    """Return the machine of a file: the shortest name of another file with which its name begins,
    or its own name."""
    machines = [name for name in stems if stem.startswith((f"{name}-", f"{name}_", f"{name}."))]
    return min(machines, key=len, default=stem)


class _File:
    """One CSV file. texts: a row for each line, whose number is the index, and a column for each
    heading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise LockwrightError(f"{path} is not text: {error.reason}", _TODO) from error
        if not text.strip():
            raise LockwrightError(f"{path} is empty", _TODO)
        first = text.lstrip().partition("\n")[0]
        separator = max(",;\t", key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows: list[list[str]] = []
        lines: list[int] = []
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    rows.append([cell.strip() for cell in row])
                    lines.append(reader.line_num)
        except csv.Error as error:
            raise self.complaint(reader.line_num, f"is not CSV ({error})") from error
        self.heading, self.heading_line = rows.pop(0), lines.pop(0)
        for row, line in zip(rows, lines, strict=True):
            if len(row) != len(self.heading):
                raise self.complaint(
                    line, f"has {len(row)} fields where the heading has {len(self.heading)}"
                )
        self.disturbance = None
        if comparison.is_comparison(self.heading):
            self.disturbance = comparison.disturbance(self.heading, rows)
            self.heading, rows = comparison.as_runs(
                self.heading, rows, path.resolve().parent.name, path.stem, self.heading_error
            )
        self.texts = pd.DataFrame(rows, lines, range(len(self.heading)))

    def complaint(self, line: int, what: str, todo: str = "correct the file") -> LockwrightError:
        return LockwrightError(f"{self.path}:{line}: {what}", todo)

    def heading_error(self, what: str, todo: str = _TODO) -> LockwrightError:
        return self.complaint(self.heading_line, what, todo)


def _read(path: Path, machine: str, better: dict[str, str], notes: list[str]) -> Source:
    file = _File(path)
    if file.disturbance:
        notes.append(f"{path.name}: {file.disturbance}")
    indices = _dimensions(file)
    metrics = _metrics(file, better)
    if file.texts.empty:
        raise file.heading_error("has no lines below its heading")
    texts = {
        name: file.texts[indices[name]] if name in indices else pd.Series("", file.texts.index)
        for name in schema.DIMENSIONS
    }
    outcomes, variants = (texts[name].str.lower() for name in (schema.OUTCOME, schema.VARIANT))
    finished = outcomes.isin(schema.FINISHED)
    if lost := int((~finished).sum()):
        notes.append(
            f"{path.name}: {lost} runs that did not finish or were to warm up are left out"
        )
    for name in (schema.MACHINE, schema.APPLICATION, schema.LOCK):
        if name in indices and (empty := texts[name] == "").any():
            raise file.complaint(empty.idxmax(), f"the {name} is empty")
    if not variants.isin(list(schema.VARIANTS)).all():
        unused = file.heading[indices[schema.VARIANT]]
        notes.append(f"{path.name}: the column '{unused}' is not used")
        variants = pd.Series("", variants.index)
    frame = pd.DataFrame(
        {
            schema.MACHINE: texts[schema.MACHINE] if schema.MACHINE in indices else machine,
            schema.APPLICATION: texts[schema.APPLICATION],
            schema.LOCK: texts[schema.LOCK].map(lock_names.project_name),
            schema.VARIANT: variants.map(schema.VARIANTS),
        }
    )
    counted, frame[COUNT] = _counts(file, indices, frame[schema.MACHINE])
    for name, (index, factor) in metrics.items():
        frame[name] = _numbers(file, index, finished) * factor
    if schema.RUN in indices:
        _check_once(file, frame, texts[schema.RUN])
    of_programs = frame.assign(outcome=outcomes)[frame[schema.VARIANT] == ""]
    lost_runs = ~of_programs.outcome.isin([*schema.FINISHED, comparison.WARM_UP])
    unfinished = of_programs.loc[lost_runs, list(UNFINISHED)]
    frame = frame[finished].reset_index(drop=True)
    if frame.empty:
        raise file.heading_error("has no run that finished")
    # A file with a column of machines adds to no other machine by its name.
    adds_metrics = machine != path.stem and schema.MACHINE not in indices
    return Source(
        path.stem, _derived(frame), _known_metrics(frame), counted, adds_metrics, unfinished
    )


def _dimensions(file: _File) -> dict[str, int]:
    """Return the index of each dimension's column."""
    indices: dict[str, int] = {}
    for index, heading in enumerate(file.heading):
        name = schema.dimension_of(heading)
        if name in indices:
            other = file.heading[indices[name]]
            raise file.heading_error(
                f"'{other}' and '{heading}' are both the {name}", "leave out one"
            )
        if name:
            indices[name] = index
    for name in _REQUIRED:
        if name not in indices:
            near = get_close_matches(name, [h.lower() for h in file.heading], n=1)
            hint = f" ('{near[0]}' is not understood)" if near else ""
            spelt = ", ".join(schema.DIMENSIONS[name])
            raise file.heading_error(f"no column is the {name}{hint}", f"it may be called {spelt}")
    return indices


def _metrics(file: _File, better: dict[str, str]) -> dict[str, tuple[int, float]]:
    """Return the column index and the unit's factor of each metric."""
    metrics: dict[str, tuple[int, float]] = {}
    for index, heading in enumerate(file.heading):
        plain, unit = schema.split_unit(heading)
        metric = schema.metric_of(heading)
        name = metric.name if metric else plain
        if name in better and metric and better[name] != metric.better:
            raise file.heading_error(
                f"'{heading}' is better when {metric.better}, not when {better[name]}",
                "leave out --better",
            )
        if metric is None and plain not in better:
            continue
        if name in metrics:
            other = file.heading[metrics[name][0]]
            raise file.heading_error(f"'{other}' and '{heading}' are both {name}", "leave out one")
        unit = schema.unit_of(heading)
        if metric and unit and unit not in metric.units:
            known = ", ".join(metric.units)
            raise file.heading_error(f"the unit '{unit}' of {name} is not known", f"use {known}")
        metrics[name] = (index, metric.units.get(unit, 1.0) if metric else 1.0)
    if not metrics:
        known = ", ".join(schema.METRICS)
        raise file.heading_error(
            f"no column is a metric ({known})", "add one, or name it with --columns and --better"
        )
    return metrics


def _counts(file: _File, indices: Mapping[str, int], machines: pd.Series) -> tuple[str, pd.Series]:
    """Return the unit of the counts and the counts: threads, or NUMA nodes where thread counts are
    missing or distinguish fewer runs."""
    names = [name for name in (schema.THREADS, schema.NODES) if name in indices]
    columns = {name: file.texts[indices[name]] for name in names}
    if len(names) == 2:
        both = pd.DataFrame(columns).assign(machine=machines)
        distinct = {name: len(both[["machine", name]].drop_duplicates()) for name in names}
        if len(both.drop_duplicates()) > max(distinct.values()):
            raise file.heading_error("threads and nodes vary independently", "use a file for each")
        names = [max(names, key=lambda name: distinct[name])]
    for name in names:
        texts = columns[name]
        good = texts.str.fullmatch("0*[1-9][0-9]{0,8}")
        if not good.all():
            line = (~good).idxmax()
            raise file.complaint(line, f"'{texts[line]}' is not a number of {name}")
        return name, texts.astype(int)
    return "", pd.Series(0, machines.index)


def _numbers(file: _File, index: int, counted: pd.Series) -> pd.Series:
    """Return the figures of a column. Raises LockwrightError for a run that counts without one."""
    heading, texts = file.heading[index], file.texts[index]
    numbers = pd.to_numeric(texts, errors="coerce")
    wrong = counted & ~numbers.between(1 / schema.MOST, schema.MOST, inclusive="neither")
    if wrong.any():
        line = wrong.idxmax()
        quoted = f"'{texts[line]}'" if texts[line] else "nothing"
        what = "above 0" if not numbers[line] >= schema.MOST else f"below {schema.MOST:g}"
        raise file.complaint(line, f"{heading} is {quoted}, not a number {what}")
    return numbers


def _check_once(file: _File, frame: pd.DataFrame, runs: pd.Series) -> None:
    """Raise an error if a numbered run of a configuration occurs twice."""
    keys = frame[["machine", "application", COUNT, "lock", "variant"]].assign(run=runs)
    if (repeated := keys.duplicated()).any():
        line = repeated.idxmax()
        row = keys.loc[line]
        first = (keys == row).all(axis=1).idxmax()
        raise file.complaint(
            line, f"run {row.run} of {row.application} with {row.lock} is in line {first} already"
        )


def _derived(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the throughput of timed runs added, and operations per joule where
    power or energy is known."""
    if "throughput" not in frame and "time" in frame:
        frame["throughput"] = 1 / frame["time"]
    if "tpp" not in frame and "throughput" in frame and "power" in frame:
        frame["tpp"] = frame["throughput"] / frame["power"]
    if "tpp" not in frame and "time" in frame and "energy" in frame:
        frame["tpp"] = 1 / frame["energy"]
    return frame


def _known_metrics(frame: pd.DataFrame) -> tuple[str, ...]:
    dimensions = {"machine", "application", "lock", "variant", COUNT}
    return tuple(name for name in frame.columns if name not in dimensions)
