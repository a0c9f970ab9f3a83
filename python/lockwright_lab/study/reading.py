"""The reader of a study's files. Errors name the file and the line."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

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
    """The rows of one CSV file, with the line number of each for messages."""

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
        self.rows: list[list[str]] = []
        self.lines: list[int] = []
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    self.rows.append([cell.strip() for cell in row])
                    self.lines.append(reader.line_num)
        except csv.Error as error:
            raise self.complaint(reader.line_num, f"is not CSV ({error})") from error
        self.heading = self.rows.pop(0)
        self.heading_line = self.lines.pop(0)
        for row, line in zip(self.rows, self.lines, strict=True):
            if len(row) != len(self.heading):
                raise self.complaint(
                    line, f"has {len(row)} fields where the heading has {len(self.heading)}"
                )
        self.disturbance = None
        if comparison.is_comparison(self.heading):
            self.disturbance = comparison.disturbance(self.heading, self.rows)
            self.heading, self.rows = comparison.as_runs(
                self.heading, self.rows, path.resolve().parent.name, path.stem, self.heading_error
            )

    def complaint(self, line: int, what: str, todo: str = "correct the file") -> LockwrightError:
        return LockwrightError(f"{self.path}:{line}: {what}", todo)

    def heading_error(self, what: str, todo: str = _TODO) -> LockwrightError:
        return self.complaint(self.heading_line, what, todo)

    def column(self, index: int) -> list[str]:
        return [row[index] for row in self.rows]


def _read(path: Path, machine: str, better: dict[str, str], notes: list[str]) -> Source:
    file = _File(path)
    if file.disturbance:
        notes.append(f"{path.name}: {file.disturbance}")
    indices = _dimensions(file)
    metrics = _metrics(file, better)
    if not file.rows:
        raise file.heading_error("has no lines below its heading")
    finished = _counted_lines(file, indices, notes)
    columns: dict[str, list[Any]] = {}
    for name in (schema.MACHINE, schema.APPLICATION, schema.LOCK, schema.VARIANT):
        columns[name] = _column_texts(file, name, indices.get(name), machine)
    if not set(columns[schema.VARIANT]) <= set(schema.VARIANTS):
        notes.append(
            f"{path.name}: the column '{file.heading[indices[schema.VARIANT]]}' is not used"
        )
        columns[schema.VARIANT] = [""] * len(file.rows)
    columns[schema.VARIANT] = [schema.VARIANTS[word] for word in columns[schema.VARIANT]]
    counted, columns[COUNT] = _counts(file, indices, columns[schema.MACHINE])
    for name, (index, factor) in metrics.items():
        columns[name] = _numbers(file, index, factor, finished)
    frame = pd.DataFrame(columns)
    if schema.RUN in indices:
        _check_once(file, frame, file.column(indices[schema.RUN]))
    unfinished = _unfinished(file, indices, frame)
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


def _counted_lines(file: _File, indices: Mapping[str, int], notes: list[str]) -> list[bool]:
    """Return which rows are runs that finished and count."""
    counted = [True] * len(file.rows)
    if schema.OUTCOME in indices:
        outcomes = [text.lower() for text in file.column(indices[schema.OUTCOME])]
        counted = [text in schema.FINISHED for text in outcomes]
        if lost := counted.count(False):
            what = "runs that did not finish or were to warm up"
            notes.append(f"{file.path.name}: {lost} {what} are left out")
    return counted


def _unfinished(file: _File, indices: Mapping[str, int], frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs without a figure; warm-up runs are left out."""
    outcomes = [""] * len(file.rows)
    if schema.OUTCOME in indices:
        outcomes = [text.lower() for text in file.column(indices[schema.OUTCOME])]
    unfinished = frame.assign(outcome=outcomes)[list(UNFINISHED)][frame[schema.VARIANT] == ""]
    return unfinished[~unfinished.outcome.isin([*schema.FINISHED, "", comparison.WARM_UP])]


def _column_texts(file: _File, name: str, index: int | None, machine: str) -> list[str]:
    if index is None:
        return [machine if name == schema.MACHINE else ""] * len(file.rows)
    words = file.column(index)
    for word, line in zip(words, file.lines, strict=True):
        if not word and name != schema.VARIANT:
            raise file.complaint(line, f"the {name} is empty")
    if name == schema.LOCK:
        return [lock_names.project_name(word) for word in words]
    return [word.lower() for word in words] if name == schema.VARIANT else words


def _counts(
    file: _File, indices: Mapping[str, int], machines: Sequence[str]
) -> tuple[str, list[int]]:
    """Return the unit of the counts and the counts: threads, or NUMA nodes where thread counts are
    missing or distinguish fewer runs."""
    columns = {n: file.column(indices[n]) for n in (schema.THREADS, schema.NODES) if n in indices}
    if len(columns) == 2:
        distinct = {name: len(set(zip(machines, columns[name], strict=True))) for name in columns}
        if len(set(zip(machines, *columns.values(), strict=True))) > max(distinct.values()):
            raise file.heading_error("threads and nodes vary independently", "use a file for each")
        most = max(distinct, key=lambda name: distinct[name])
        columns = {most: columns[most]}
    for name, texts in columns.items():
        counts = []
        for text, line in zip(texts, file.lines, strict=True):
            if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) < 10**9):
                raise file.complaint(line, f"'{text}' is not a number of {name}")
            counts.append(int(text))
        return name, counts
    return "", [0] * len(file.rows)


def _numbers(file: _File, index: int, factor: float, counted: Sequence[bool]) -> list[float]:
    heading = file.heading[index]
    numbers = []
    for text, line, counts in zip(file.column(index), file.lines, counted, strict=True):
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if counts and not 1 / schema.MOST < number < schema.MOST:
            quoted = f"'{text}'" if text else "nothing"
            what = "above 0" if not number >= schema.MOST else f"below {schema.MOST:g}"
            raise file.complaint(line, f"{heading} is {quoted}, not a number {what}")
        numbers.append(number * factor)
    return numbers


def _check_once(file: _File, frame: pd.DataFrame, runs: Sequence[str]) -> None:
    """Raise an error if a numbered run of a configuration occurs twice."""
    keys = frame[["machine", "application", COUNT, "lock", "variant"]].assign(run=list(runs))
    repeated = keys.duplicated()
    if repeated.any():
        index = int(repeated.to_numpy().argmax())
        first = int((keys == keys.iloc[index]).all(axis=1).to_numpy().argmax())
        row = keys.iloc[index]
        raise file.complaint(
            file.lines[index],
            f"run {row.run} of {row.application} with {row.lock} is in line "
            f"{file.lines[first]} already",
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
