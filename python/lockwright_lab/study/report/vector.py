"""The figures of a study as files for a paper, drawn by matplotlib: the plots of the page, without
its links."""

import html
import importlib.util
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockwright.base.errors import LockwrightError

from lockwright_lab.study.report.plots import Figure, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "legend.fontsize": 6,
    "legend.frameon": False,
    "lines.linewidth": 0.9,
    "lines.markersize": 3,
    # Text is not drawn as outlines: a PDF embeds the font, SVG has text.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    # Equal figures give equal files.
    "svg.hashsalt": "lockwright",
}
_WIDE = 6.9
"""Inches: the width of the text of most two-column papers."""
_PIXELS = 127
"""Of the page's plots in an inch."""
_MARKERS = "osD^vP*Xp<>h"
_DASHES = ("-", "--", "-.", ":")


def available() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write(figures: Sequence[Figure], folder: Path, kind: str) -> None:
    """Draw the figures as pdf or svg. Raises LockwrightError if a file cannot be written."""
    import matplotlib

    matplotlib.use("Agg")
    with matplotlib.rc_context(_STYLE):
        for figure in figures:
            folder.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"[^A-Za-z0-9._-]+", "_", figure.name)
            _save(figure.plot, folder / f"{name}.{kind}")


def _save(plot: Plot, path: Path) -> None:
    from matplotlib.figure import Figure as Drawing

    layout = plot["layout"]
    wide = min(_WIDE, max(3.0, layout["width"] / 2 / _PIXELS)) if "width" in layout else 4.5
    drawing = Drawing(figsize=(wide, layout["height"] / _PIXELS))
    axes = drawing.subplots()
    for number, trace in enumerate(plot["data"]):
        _DRAW[trace["type"]](axes, trace, number)
    for which in "xy":
        _axis(axes, which, layout[f"{which}axis"])
    for line in layout.get("shapes", ()):
        guide: dict[str, Any] = {"color": "0.5", "linewidth": 0.7, "linestyle": ":"}
        if line.get("yref") == "paper":
            axes.axvline(line["x0"], **guide)
        else:
            axes.plot((line["x0"], line["x1"]), (line["y0"], line["y1"]), **guide)
    if layout.get("showlegend"):
        above = "orientation" in layout.get("legend", {})
        columns = len(plot["data"]) if above else 1 + len(plot["data"]) // 26
        if above:
            axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, handlelength=3)
        else:
            axes.legend(
                loc="center left", bbox_to_anchor=(1.01, 0.5), ncols=columns, handlelength=3
            )
    metadata = {"Date": None} if path.suffix == ".svg" else {"CreationDate": None}
    try:
        drawing.savefig(path, bbox_inches="tight", pad_inches=0.03, metadata=metadata)
    except OSError as error:
        raise LockwrightError(
            f"cannot write {path}: {error.strerror}", "name another directory with --output-dir"
        ) from error


def _finite(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _heat(axes: "Axes", trace: Plot, _: int) -> None:
    low, high = trace["zmin"], trace["zmax"]
    pale, full = (high, low) if trace["reversescale"] else (low, high)
    shares = [[(value - pale) / (full - pale) for value in _finite(line)] for line in trace["z"]]
    image = axes.imshow(shares, cmap="Reds", vmin=0, vmax=1.15, aspect="auto")
    axes.set_facecolor("0.9")
    axes.spines[:].set_visible(False)
    for y, line in enumerate(trace["text"]):
        for x, text in enumerate(line):
            colour = "white" if shares[y][x] > 0.6 else "black"
            axes.text(x, y, text, ha="center", va="center", fontsize=5, color=colour)
    assert axes.figure is not None
    title = trace["colorbar"]["title"]["text"]
    bar = axes.figure.colorbar(image, ax=axes, label=title, ticks=[0, 0.5, 1], fraction=0.03)
    bar.ax.set_ylim(0, 1)
    times = 100 if title.startswith("%") else 1
    bar.ax.set_yticklabels([f"{times * (pale + t * (full - pale)):g}" for t in (0, 0.5, 1)])
    bar.outline.set_visible(False)


def _scatter(axes: "Axes", trace: Plot, number: int) -> None:
    colour, x, y = f"C{number % 10}", trace["x"], _finite(trace["y"])
    if "error_x" in trace:
        # An interval without the noise of the runs may lie beside its mark.
        below, above = (_finite(trace["error_x"][name]) for name in ("arrayminus", "array"))
        low = [mark - length for mark, length in zip(_finite(x), below, strict=True)]
        high = [mark + length for mark, length in zip(_finite(x), above, strict=True)]
        axes.hlines(y, low, high, colors=colour, linewidth=0.8)
    axes.plot(
        x if isinstance(x[0], str) else _finite(x),
        y,
        marker=_MARKERS[number % len(_MARKERS)] if "markers" in trace["mode"] else "",
        linestyle=_DASHES[number // 10 % 4] if "lines" in trace["mode"] else "",
        drawstyle="steps-post" if trace.get("line", {}).get("shape") == "hv" else "default",
        color=colour,
        label=trace["name"],
    )


def _bars(axes: "Axes", trace: Plot, _: int) -> None:
    drawn = axes.bar(trace["x"], _finite(trace["y"]), 0.7)
    axes.bar_label(drawn, fmt="%.0f", fontsize=6)
    if sum(map(len, trace["x"])) > 50:
        _slant(axes, 35, "right")


def _boxes(axes: "Axes", trace: Plot, _: int) -> None:
    names = list(dict.fromkeys(trace["y"]))
    pairs = list(zip(trace["x"], trace["y"], strict=True))
    axes.boxplot(
        [[value for value, of in pairs if of == name] for name in names],
        positions=range(len(names)),
        orientation="horizontal",
        widths=0.6,
        boxprops={"linewidth": 0.6},
        flierprops={"markersize": 2},
        manage_ticks=False,
    )


def _slant(axes: "Axes", degrees: float, end: str) -> None:
    """Slant the names below or above a plot. end: of the names, which is at their places."""
    for name in axes.get_xticklabels():
        name.set(rotation=degrees, ha=end, rotation_mode="anchor")


def _axis(axes: "Axes", which: str, about: Plot) -> None:
    """Set the title, the scale and the ticks of an axis."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_label_text(about.get("title", {}).get("text", ""))
    if "ticktext" in about:
        names = [html.unescape(re.sub("<[^>]*>", "", text)) for text in about["ticktext"]]
        axis.set_ticks(range(len(names)), names)
        axis.set_tick_params(length=0)
    if about.get("side") == "top":
        axes.xaxis.tick_top()
        _slant(axes, 55, "left")
    if which == "y" and ("range" in about or about.get("autorange") == "reversed"):
        axes.set_ylim(len(names) - 0.4, -0.6)
    if about.get("rangemode") == "tozero":
        change = axes.set_xlim if which == "x" else axes.set_ylim
        change(min(0.0, axis.get_view_interval()[0]), None)
    if about.get("type") == "log":
        _make_logarithmic(axes, which)


def _make_logarithmic(axes: "Axes", which: str) -> None:
    """Make an axis logarithmic, with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


_DRAW: dict[str, Callable[["Axes", Plot, int], None]] = {
    "heatmap": _heat,
    "scatter": _scatter,
    "bar": _bars,
    "box": _boxes,
}
