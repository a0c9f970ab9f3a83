"""The figures of a study as files for a paper, drawn by matplotlib.

They show the same as the plots of the page (figure.Figure), without its links.
"""

import importlib.util
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockwright.base.errors import LockwrightError

from lockwright_lab.study.report.all_figures import Figures
from lockwright_lab.study.report.plots import (
    Bars,
    Boxes,
    Dots,
    Figure,
    Heat,
    Lines,
    Number,
    Plot,
    Points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.titlesize": 9,
    "legend.fontsize": 7,
    "legend.frameon": False,
    # Text is not drawn as outlines: a PDF embeds the font, SVG has text.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    # Equal figures give equal files.
    "svg.hashsalt": "lockwright",
}

_WIDE = 6.9
"""Inches: the width of the text of most two-column papers."""

_ROW = 0.15
"""Inches per row of a plot with names."""

_MARKERS = "osD^vP*Xp<>h"


def available() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write(figures: Figures, folder: Path, kind: str) -> int:
    """Draw the figures as pdf or svg, those of single programs in a subdirectory; return their
    number. Raises LockwrightError if a file cannot be written."""
    import matplotlib

    matplotlib.use("Agg")
    number = 0
    with matplotlib.rc_context(_STYLE):
        for target, group in ((folder, figures.study()), (folder / "programs", figures.programs())):
            for figure in group:
                target.mkdir(parents=True, exist_ok=True)
                _save(figure, target / f"{re.sub(r'[^A-Za-z0-9._-]+', '_', figure.name)}.{kind}")
                number += 1
    return number


def _save(figure: Figure, path: Path) -> None:
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=_size(figure.plot))
    axes = drawing.subplots()
    _DRAW[type(figure.plot)](axes, figure.plot)
    metadata = {"Date": None} if path.suffix == ".svg" else {"CreationDate": None}
    try:
        drawing.savefig(path, bbox_inches="tight", pad_inches=0.03, metadata=metadata)
    except OSError as error:
        raise LockwrightError(
            f"cannot write {path}: {error.strerror}", "name another directory with --output-dir"
        ) from error


def _size(plot: Plot) -> tuple[float, float]:
    if isinstance(plot, Heat):
        return min(_WIDE, 1.2 + 0.24 * len(plot.columns)), 0.5 + _ROW * len(plot.rows)
    if isinstance(plot, Dots | Boxes):
        return 4.5, 0.6 + _ROW * len(plot.rows)
    if isinstance(plot, Lines):
        return 4.5, max(2.4, 0.4 + 0.105 * len(plot.series))
    return (4.2, 3.6) if isinstance(plot, Points) else (4.5, 2.4)


def _finite(values: Sequence[Number]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _rows(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", linewidth=0.3, alpha=0.5)


def _heat(axes: "Axes", plot: Heat) -> None:
    pale, full = plot.ends
    values = [[(v - pale) / (full - pale) for v in _finite(line)] for line in plot.values]
    image = axes.imshow(values, cmap="Reds", vmin=0, vmax=1.15, aspect="auto")
    axes.set_facecolor("0.9")
    for y, line in enumerate(plot.texts):
        for x, text in enumerate(line):
            dark = values[y][x] > 0.6
            axes.text(
                x, y, text, ha="center", va="center", fontsize=5, color="white" if dark else "black"
            )
    axes.set_xticks(range(len(plot.columns)), plot.columns, rotation=55, ha="left")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(plot.rows)), plot.rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    assert axes.figure is not None
    ticks = [0, 0.5, 1]
    bar = axes.figure.colorbar(
        image, ax=axes, label=plot.scale, ticks=ticks, fraction=0.03, pad=0.02
    )
    bar.ax.set_ylim(0, 1)
    times = 100 if plot.scale.startswith("%") else 1
    bar.ax.set_yticklabels([f"{times * (pale + t * (full - pale)):g}" for t in ticks])
    bar.outline.set_visible(False)


def _dots(axes: "Axes", plot: Dots) -> None:
    for index, line in enumerate(plot.series):
        values = _finite(line.values)
        y = [row + (index - (len(plot.series) - 1) / 2) * 0.22 for row in range(len(values))]
        colour = f"C{index}"
        if line.low:
            axes.hlines(y, _finite(line.low), _finite(line.high), colors=colour, linewidth=0.8)
        axes.plot(
            values, y, _MARKERS[index % len(_MARKERS)], color=colour, markersize=3, label=line.name
        )
    _rows(axes, plot.rows)
    if plot.logarithmic:
        _log(axes, "x")
    else:
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    if plot.line is not None:
        axes.axvline(plot.line, color="0.5", linewidth=0.7, linestyle=":")
    axes.set_xlabel(plot.axis)
    if len(plot.series) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(plot.series))


def _lines(axes: "Axes", plot: Lines) -> None:
    x = list(range(len(plot.x))) if plot.steps else list(plot.x)
    for index, line in enumerate(plot.series):
        axes.plot(
            x,
            _finite(line.values),
            marker=_MARKERS[index % len(_MARKERS)] if plot.steps else None,
            color=f"C{index % 10}",
            drawstyle="default" if plot.steps else "steps-post",
            linestyle=("-", "--", "-.", ":")[index // 10 % 4],
            markersize=3,
            linewidth=0.9,
            label=line.name,
        )
    if plot.steps:
        axes.set_xticks(x, [f"{value:g}" for value in plot.x])
    if plot.logarithmic:
        _log(axes, "y")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(plot.x_axis)
    axes.set_ylabel(plot.y_axis)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=6, handlelength=3)


def _bars(axes: "Axes", plot: Bars) -> None:
    for index, bars in enumerate(plot.series):
        width = 0.7 / len(plot.series)
        x = [category - 0.35 + width * (index + 0.5) for category in range(len(plot.categories))]
        drawn = axes.bar(x, _finite(bars.values), width, label=bars.name)
        axes.bar_label(drawn, fmt="%.0f", fontsize=6)
    slanted = sum(map(len, plot.categories)) > 50
    rotation: dict[str, Any] = {"rotation": 35, "ha": "right"} if slanted else {}
    axes.set_xticks(range(len(plot.categories)), plot.categories, **rotation)
    axes.set_ylabel(plot.axis)


def _points(axes: "Axes", plot: Points) -> None:
    for index, (name, x, y, _) in enumerate(plot.clouds):
        marker = _MARKERS[index // 10 % len(_MARKERS)]
        axes.plot(x, y, marker, color=f"C{index % 10}", markersize=2.5, alpha=0.7, label=name)
    if plot.logarithmic:
        _log(axes, "x")
        _log(axes, "y")
    else:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    if plot.diagonal:
        axes.axline((1, 1), (2, 2), color="0.5", linewidth=0.7, linestyle=":")
    axes.set_xlabel(plot.x_axis)
    axes.set_ylabel(plot.y_axis)
    columns = 1 + len(plot.clouds) // 26
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=6, ncols=columns)


def _boxes(axes: "Axes", plot: Boxes) -> None:
    axes.boxplot(
        [list(values) for values in plot.values],
        positions=range(len(plot.rows)),
        orientation="horizontal",
        widths=0.6,
        boxprops={"linewidth": 0.6},
        flierprops={"markersize": 2},
        manage_ticks=False,
    )
    _rows(axes, plot.rows)
    axes.set_xlim(left=0)
    axes.set_xlabel(plot.axis)


def _log(axes: "Axes", which: str) -> None:
    """Make an axis logarithmic, with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


_DRAW: dict[type[Plot], Callable[["Axes", Any], None]] = {
    Heat: _heat,
    Dots: _dots,
    Lines: _lines,
    Bars: _bars,
    Points: _points,
    Boxes: _boxes,
}
