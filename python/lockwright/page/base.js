"use strict";

// Functions of all pages. DATA, which each page defines, names its locks and the baseline.

// Every lock has a different colour and marker, so that twelve are distinct without colours too. The
// colours are legible on a white and on a black page.
const COLOURS = [
  "#4269d0", "#e39a00", "#ff725c", "#2f9e86", "#3ca951", "#e86aa6",
  "#a463f2", "#5fa8ff", "#9c6b4e", "#0f93b5", "#8f9400", "#c8407a",
];
const MARKERS = [
  "circle", "square", "diamond", "triangle-up", "triangle-down", "star",
  "cross", "x", "pentagon", "hexagram", "bowtie", "hourglass",
];

const root = document.documentElement;
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

function style(lock) {
  if (lock === DATA.baseline) {
    return { colour: css("--ink"), marker: "circle", dash: "dash" };
  }
  const index = DATA.locks.filter((name) => name !== DATA.baseline).indexOf(lock);
  return {
    colour: COLOURS[index % COLOURS.length],
    // Another step than that of the colours: pairs stay distinct far beyond twelve.
    marker: MARKERS[(index + 1 + Math.floor(index / COLOURS.length)) % MARKERS.length],
    dash: "solid",
  };
}

function numberText(value) {
  if (value === null || value === undefined) return "-";
  return Math.abs(value) >= 1000
    ? Math.round(value).toLocaleString("en-US")
    : String(Number(value.toPrecision(4)));
}

function layout(extra) {
  const axis = {
    gridcolor: css("--line"),
    linecolor: css("--line"),
    zeroline: false,
    automargin: true,
    tickfont: { size: 12 },
  };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 13, color: css("--ink") },
    margin: { l: 10, r: 24, t: 34, b: 40 },
    hoverlabel: { bgcolor: css("--raised"), bordercolor: css("--line"), font: { color: css("--ink") } },
    showlegend: false,
    ...extra,
    xaxis: { ...axis, ...extra.xaxis },
    yaxis: { ...axis, ...extra.yaxis },
  };
}

// Returns the ticks of a logarithmic axis: powers of ten, and others between them if they fit.
function logTicks(low, high, width) {
  const decadeWidth = width / Math.log10(high / low);
  const steps = decadeWidth > 100 ? [1, 2, 5] : decadeWidth > 60 ? [1, 3] : [1];
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) values.push(Number((step * 10 ** power).toPrecision(2)));
  }
  return { tickvals: values, ticktext: values.map(shortNumber) };
}

// Returns the ticks of a linear axis from 0: at most seven, at multiples of 1, 2 or 5.
function linearTicks(high) {
  const unit = 10 ** Math.floor(Math.log10(high / 3));
  const step = [1, 2, 5, 10].map((multiple) => multiple * unit).find((multiple) => high / multiple <= 6);
  const values = [];
  for (let count = 0; count * step <= high; count += 1) values.push(Number((count * step).toPrecision(6)));
  return { tickvals: values, ticktext: values.map(shortNumber) };
}

function shortNumber(value) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
  }
  return String(Number(value.toPrecision(3)));
}

// Returns nanoseconds with a unit.
function durationText(ns) {
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (ns >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
  }
  return `${Number(ns.toPrecision(3))} ns`;
}

function draw(element, traces, options, config = { displayModeBar: false }) {
  // Plots are not resized before a page is printed.
  const size = root.classList.contains("paper") ? { width: element.clientWidth } : {};
  Plotly.react(element, traces, layout({ ...options, ...size }), { ...config, responsive: true });
}

// Creates all panels of a row at once, because their width depends on their number.
function panel(parent, index, count, height) {
  const row = document.getElementById(parent);
  while (row.childElementCount < count) row.append(document.createElement("div"));
  const element = row.children[index];
  element.style.height = `${height}px`;
  return element;
}

// Returns heights of labels at least `gap` apart, each as near to its target as possible.
function labelHeights(targets, gap) {
  const order = targets.map((target, index) => ({ target, index })).sort((a, b) => b.target - a.target);
  const centre = (group) => group.targets.reduce((sum, target) => sum + target, 0) / group.targets.length;
  const half = (group) => (group.members.length * gap) / 2;
  // Labels that would overlap form a group around the mean of their targets.
  const groups = [];
  for (const { target, index } of order) {
    groups.push({ targets: [target], members: [index] });
    while (groups.length > 1) {
      const [upper, lower] = groups.slice(-2);
      if (centre(upper) - half(upper) >= centre(lower) + half(lower)) break;
      groups.splice(-2, 2, {
        targets: upper.targets.concat(lower.targets),
        members: upper.members.concat(lower.members),
      });
    }
  }
  const heights = [];
  for (const group of groups) {
    group.members.forEach((index, rank) => {
      heights[index] = centre(group) + ((group.members.length - 1) / 2 - rank) * gap;
    });
  }
  return heights;
}

// Returns the width in pixels of the longest name.
const labelWidth = (names) => Math.max(0, ...names.map((name) => name.length)) * 7.4 + 14;

// Returns names at the ends of lines, in place of a legend. heights: of the ends, as shares of a plot
// that is plotHeight pixels high. from, to: the horizontal ends of the strokes from the lines to their
// names. styleOf: returns the style of a name.
function endLabels(names, heights, plotHeight, from, to, styleOf = style) {
  const gap = 15 / plotHeight;
  const labels = labelHeights(heights, gap);
  // The names of many lines that end at the top or the bottom stay within the plot.
  const byHeight = labels.map((_, index) => index).sort((a, b) => labels[b] - labels[a]);
  byHeight.forEach((index, rank) => { labels[index] = Math.min(labels[index], 1 - rank * gap); });
  byHeight.reverse().forEach((index, rank) => { labels[index] = Math.max(labels[index], rank * gap); });
  return {
    annotations: names.map((name, index) => lineLabel(name, labels[index], styleOf)),
    shapes: names.map((name, index) => ({
      type: "line", x0: from, x1: to, yref: "paper", y0: heights[index], y1: labels[index],
      line: { color: styleOf(name).colour, width: 1 }, opacity: 0.6,
    })),
  };
}

function lineLabel(name, y, styleOf = style) {
  return {
    x: 1, xref: "paper", xanchor: "left", xshift: 3, y, yref: "paper", yanchor: "middle",
    text: name === DATA.baseline ? `<b>${name}</b>` : name, showarrow: false,
    font: { size: 12, color: styleOf(name).colour },
  };
}

// Draws lines over named categories on the horizontal axis, such as numbers of threads. series:
// {name, values, texts}, null for a missing value. options: title; xTitle; yTitle; categories;
// logarithmic; ticks, the text of a value; range; styleOf, the style of a series; shapes.
function drawLinePlot(element, series, options) {
  const height = element.clientHeight;
  const top = options.title ? 34 : 12, bottom = 46;
  const plotHeight = height - top - bottom;
  const values = series.flatMap((entry) => entry.values).filter((value) => value !== null && (value > 0 || !options.logarithmic));
  const least = values.length ? Math.min(...values) : 1;
  const most = values.length ? Math.max(...values) : 1;
  const range = options.range || (options.logarithmic
    ? [Math.log10(least / 1.4), Math.log10(most * 1.4)] : [0, most * 1.08]);
  const heightOf = (value) => ((options.logarithmic ? Math.log10(value) : value) - range[0]) / (range[1] - range[0]);
  const last = options.categories.length - 1;
  const styleOf = options.styleOf || style;
  const traces = series.map((entry) => {
    const { colour, marker, dash } = styleOf(entry.name);
    return {
      type: "scatter",
      mode: "lines+markers",
      x: entry.values.map((_, index) => index),
      // A logarithmic scale has no 0.
      y: entry.values.map((value) => (options.logarithmic && value === 0 ? null : value)),
      connectgaps: false,
      text: entry.texts,
      line: { color: colour, width: entry.name === DATA.baseline ? 3 : 2, dash },
      marker: { color: colour, symbol: marker, size: 9 },
      hovertemplate: `<b>${entry.name}</b>, %{text}<extra></extra>`,
    };
  });
  const ends = series.filter((entry) => entry.values[last] !== null && (entry.values[last] > 0 || !options.logarithmic));
  const right = last * 1.12;
  const names = endLabels(
    ends.map((entry) => entry.name), ends.map((entry) => heightOf(entry.values[last])), plotHeight, last * 1.03, right, styleOf,
  );
  const low = 10 ** range[0], high = 10 ** range[1];
  const axis = options.logarithmic ? { type: "log", ...logTicks(low, high, plotHeight) } : { type: "linear", ...linearTicks(range[1]) };
  if (options.ticks) axis.ticktext = axis.tickvals.map(options.ticks);
  draw(element, traces, {
    title: options.title ? { text: options.title, x: 0, xanchor: "left", font: { size: 14 } } : undefined,
    margin: { l: 12, r: labelWidth(series.map((entry) => entry.name)), t: top, b: bottom },
    xaxis: {
      title: { text: options.xTitle, font: { size: 13 } },
      range: [-0.06 * last, right],
      tickvals: options.categories.map((_, index) => index),
      ticktext: options.categories.map(String),
    },
    yaxis: { title: { text: options.yTitle, font: { size: 13 } }, range, ...axis },
    shapes: [...names.shapes, ...(options.shapes || [])],
    annotations: names.annotations,
  });
}

// Sorts by a column at a click on its heading, in reverse at a second one. Rows without a value are last
// in both orders.
function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  headings.forEach((heading, column) => {
    heading.querySelector("button").onclick = () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.key ?? "";
      const rows = [...body.rows].sort((a, b) => {
        const [left, right] = [key(a), key(b)];
        if (left === "" || right === "") return (left === "") - (right === "");
        const order = Number.isNaN(Number(left)) ? left.localeCompare(right) : left - right;
        return down ? -order : order;
      });
      body.append(...rows);
    };
  });
}

// Makes tables sortable, and sets the light or dark theme; `redrawAll` draws all parts that depend on it.
function startPage(redrawAll) {
  const setTheme = (dark) => {
    root.classList.toggle("dark", dark);
    root.style.colorScheme = dark ? "dark" : "light";
    document.getElementById("theme").textContent = dark ? "Light" : "Dark";
    redrawAll();
  };
  const preference = window.matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", () => setTheme(preference.matches));
  document.getElementById("theme").onclick = () => setTheme(!root.classList.contains("dark"));
  // Prints black on white, in the width of the paper.
  let wasDark = null;
  window.addEventListener("beforeprint", () => {
    wasDark = root.classList.contains("dark");
    root.classList.add("paper");
    setTheme(false);
  });
  window.addEventListener("afterprint", () => {
    root.classList.remove("paper");
    setTheme(wasDark);
  });
  document.querySelectorAll("table").forEach(makeSortable);
  setTheme(preference.matches);
}
