"""The figures of the report: traces and layouts of plotly.

page/page.js adds what depends on the theme and the window.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import escape

from lockwright_lab.study.report import links

Plot = dict[str, Any]
"""`data` and `layout` of plotly; `width` of the layout is the largest one."""

Cloud = tuple[str, list[float], list[float], list[str]]
"""Points of an application: its name, their coordinates, and their names."""

_ROW = 19
"""Pixels of the height of a row."""
_SHADES = ("#8a94a6", "#d1495b", "#2f6fdd")
_COLOURS = (
    *("#4269d0", "#e39a00", "#ff725c", "#2f9e86", "#3ca951", "#e86aa6"),
    *("#a463f2", "#5fa8ff", "#9c6b4e", "#0f93b5", "#8f9400", "#c8407a"),
)
_MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "star", "cross")
_LEGEND = {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"}
_GUIDE = {"type": "line", "line": {"color": "#8a94a6", "width": 1, "dash": "dot"}}


@dataclass(frozen=True)
class Figure:
    """A figure of the report. name: short, for addresses and files. how: the computation of its
    values. shows: the result in a sentence. table: name of the table with its values, or ''."""

    name: str
    title: str
    how: str
    shows: str
    plot: Plot
    table: str = ""


def numbers(values: Iterable[object]) -> list[float | None]:
    """Return numbers with six significant digits; None for those that are not finite."""
    floats = [math.nan if value is None else float(str(value)) for value in values]
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in floats]


def percents(frame: pd.DataFrame) -> pd.DataFrame:
    """Return shares as texts in per cent; '' for none."""
    return each(frame, lambda share: "" if math.isnan(share) else f"{100 * share:.0f}")


def each(frame: pd.DataFrame, function: Callable[[float], str]) -> pd.DataFrame:
    """Return the text of each value."""
    return frame.apply(lambda column: column.map(function))


def heat(
    frame: pd.DataFrame,
    ends: tuple[float, float],
    scale: str,
    of: tuple[str, str],
    texts: pd.DataFrame | None = None,
) -> Plot:
    """Return a matrix in colours. ends: the values of the palest and the fullest colour. of: the
    kinds of pages of the rows and the columns. texts: of the cells, by default in per cent."""
    names = list(map(str, frame.columns))
    trace = {
        "type": "heatmap",
        "x": names,
        "y": list(map(str, frame.index)),
        "z": [numbers(line) for line in frame.to_numpy()],
        "text": (percents(frame) if texts is None else texts).to_numpy().tolist(),
        "texttemplate": "%{text}",
        "hovertemplate": "%{y}, %{x}: %{text}<extra></extra>",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
        "zmin": min(ends),
        "zmax": max(ends),
        "reversescale": ends[0] > ends[1],
        # With a few rows there is no room for a scale.
        "showscale": len(frame) >= 8,
        "colorbar": {
            "title": {"text": scale, "side": "right"},
            "thickness": 10,
            "outlinewidth": 0,
            "tickformat": ".0%" if scale.startswith("%") else "",
        },
    }
    top = {"side": "top", "tickangle": -55, "showgrid": False, **_names(names, of[1])}
    height = 50 + 6.1 * max(map(len, names), default=0) + _ROW * len(frame)
    width = 260 + 64 * len(names)
    return _plot([trace], top, _rows(frame.index, of[0]), height, width)


def dots(
    columns: Mapping[str, pd.Series],
    axis: str,
    *,
    logarithmic: bool = False,
    line: float | None = None,
    of_rows: str = "",
    ends: Mapping[str, tuple[pd.Series, pd.Series]] | None = None,
) -> Plot:
    """Return a row for each index of the series, with a dot for each series. line: the value of a
    reference line; ends: of the intervals of a series."""
    traces = []
    names = list(map(str, next(iter(columns.values())).index))
    for number, (name, values) in enumerate(columns.items()):
        shade = _SHADES[number % 3 if len(columns) > 1 else 2]
        trace = {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": numbers(values),
            "y": [row + (number - (len(columns) - 1) / 2) * 0.22 for row in range(len(names))],
            "text": names,
            "hovertemplate": "<b>%{text}</b> %{fullData.name}: %{x:.4~g}<extra></extra>",
            "marker": {"color": shade, "symbol": _MARKERS[number], "size": 8},
            "cliponaxis": False,
        }
        if ends:
            low, high = ends[name]
            lengths = {"array": numbers(high - values), "arrayminus": numbers(values - low)}
            bar = {"type": "data", "symmetric": False, "thickness": 1.2, "width": 0}
            trace["error_x"] = {**bar, **lengths}
        traces.append(trace)
    scale = {"type": "log", "tickformat": "~g"} if logarithmic else {"rangemode": "tozero"}
    ticks = {"tickvals": list(range(len(names))), "ticktext": _linked(names, of_rows)}
    rows = {**ticks, "range": [len(names) - 0.4, -0.6]}
    guide = [{**_GUIDE, "x0": line, "x1": line, "yref": "paper", "y0": 0, "y1": 1}]
    return _plot(
        traces,
        {"title": {"text": axis}, **scale},
        rows,
        70 + _ROW * len(names),
        shapes=guide if line is not None else [],
        showlegend=len(columns) > 1,
        legend=_LEGEND,
    )


def lines(
    frame: pd.DataFrame, x_axis: str, y_axis: str, *, steps: bool = True, logarithmic: bool = False
) -> Plot:
    """Return a line for each column over the index. steps: whether the index has counts at equal
    distances; else a line is constant up to the next value."""
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers" if steps else "lines",
            "name": str(name),
            "x": [f"{x:g}" for x in frame.index] if steps else list(frame.index),
            "y": numbers(frame[name]),
            "connectgaps": True,
            "line": {"shape": "linear" if steps else "hv"},
            "hovertemplate": "<b>%{fullData.name}</b> at %{x}: %{y:.4~g}<extra></extra>",
        }
        for name in frame
    ]
    scale = {"type": "log", "tickformat": "~s"} if logarithmic else {"rangemode": "tozero"}
    return _plot(
        traces,
        {"title": {"text": x_axis}, "type": "category" if steps else "linear"},
        {"title": {"text": y_axis}, **scale},
        max(340, 90 + _ROW * len(traces)),
        showlegend=True,
        hovermode="closest",
    )


def bars(values: pd.Series, axis: str) -> Plot:
    """Return a bar for each index."""
    trace = {
        "type": "bar",
        "x": list(map(str, values.index)),
        "y": numbers(values),
        "texttemplate": "%{y:.0f}",
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": _SHADES[2]},
        "hovertemplate": "%{x}: %{y:.1f}<extra></extra>",
    }
    x = {"type": "category", "showgrid": False}
    y = {"title": {"text": axis}, "rangemode": "tozero"}
    return _plot([trace], x, y, 340, 160 + 90 * len(values), bargap=0.35)


def points(
    clouds: Sequence[Cloud],
    x_axis: str,
    y_axis: str,
    *,
    logarithmic: bool = False,
    diagonal: bool = False,
) -> Plot:
    """Return clouds of points. diagonal: whether the line x = y is drawn."""
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": x,
            "y": y,
            "text": labels,
            "marker": {
                "color": _COLOURS[number % len(_COLOURS)],
                "symbol": _MARKERS[(number + number // len(_COLOURS)) % len(_MARKERS)],
                "size": 6,
                "opacity": 0.75,
            },
            "hovertemplate": "<b>%{fullData.name}</b>, %{text}<br>%{x:.4~g}, %{y:.4~g}"
            "<extra></extra>",
        }
        for number, (name, x, y, labels) in enumerate(clouds)
    ]
    every = [value for _, x, y, _ in clouds for value in (*x, *y) if value > 0]
    low, high = (min(every) if logarithmic else 0.0), max(every)
    scale = {"type": "log", "tickformat": "~g"} if logarithmic else {"rangemode": "tozero"}
    return _plot(
        traces,
        {"title": {"text": x_axis}, **scale},
        {"title": {"text": y_axis}, **scale},
        560,
        980,
        showlegend=len(clouds) > 1,
        hovermode="closest",
        shapes=[{**_GUIDE, "x0": low, "y0": low, "x1": high, "y1": high}] if diagonal else [],
    )


def boxes(columns: Mapping[str, pd.Series], axis: str, of_rows: str = "") -> Plot:
    """Return the spread of each series in a row."""
    pooled = pd.concat({name: values.dropna() for name, values in columns.items()})
    trace = {
        "type": "box",
        "orientation": "h",
        "x": numbers(pooled),
        "y": list(pooled.index.get_level_values(0)),
        "text": list(map(str, pooled.index.get_level_values(1))),
        "boxpoints": "all",
        "jitter": 0.4,
        "pointpos": 0,
        "marker": {"color": _SHADES[2], "size": 4, "opacity": 0.6},
        "line": {"width": 1.4},
        "hovertemplate": "%{text}: %{x:.0f} %<extra></extra>",
        "hoveron": "points",
    }
    x = {"title": {"text": axis}, "rangemode": "tozero"}
    return _plot([trace], x, _rows(columns, of_rows), 70 + _ROW * len(columns))


def leaders(values: pd.Series, least: bool = False) -> str:
    """Return the name with the highest value, or the lowest; of several equal, the first three."""
    names = list(values.index[values == (values.min() if least else values.max())])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(str, names[:3])) + more


def _plot(
    traces: list[dict[str, Any]],
    x: dict[str, Any],
    y: dict[str, Any],
    height: float,
    width: float | None = None,
    **layout: Any,
) -> Plot:
    more = {} if width is None else {"width": width}
    return {"data": traces, "layout": {"xaxis": x, "yaxis": y, "height": height, **more, **layout}}


def _rows(names: Iterable[object], kind: str) -> dict[str, Any]:
    """Return the axis of rows from the top, with links to the pages of a kind."""
    return {"autorange": "reversed", "showgrid": False, **_names(list(map(str, names)), kind)}


def _names(names: Sequence[str], kind: str) -> dict[str, Any]:
    return {"type": "category", "tickvals": names, "ticktext": _linked(names, kind)}


def _linked(names: Sequence[str], kind: str) -> list[str]:
    if not kind:
        return [str(escape(name)) for name in names]
    return [
        f'<a href="{links.where(kind, name)}" target="_self">{escape(name)}</a>' for name in names
    ]
