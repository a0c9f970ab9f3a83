"use strict";

// What the pages have in common. DATA, which each page brings, names its locks and the baseline.

// Every lock has a colour and a marker of its own, so that twelve can be told apart, also by
// someone who does not see colours. The colours hold against a white and a black page.
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
  const place = DATA.locks.filter((name) => name !== DATA.baseline).indexOf(lock);
  return {
    colour: COLOURS[place % COLOURS.length],
    // Another step than that of the colours: pairs stay distinct far beyond twelve.
    marker: MARKERS[(place + 1 + Math.floor(place / COLOURS.length)) % MARKERS.length],
    dash: "solid",
  };
}

function figure(value) {
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

// Ticks of a logarithmic axis: powers of ten, and others between them where there is room.
function logTicks(low, high, width) {
  const room = width / Math.log10(high / low);
  const steps = room > 100 ? [1, 2, 5] : room > 60 ? [1, 3] : [1];
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) values.push(Number((step * 10 ** power).toPrecision(2)));
  }
  return { tickvals: values, ticktext: values.map(shortFigure) };
}

// Ticks of a linear axis from 0: at most seven, at multiples of 1, 2 or 5.
function linearTicks(high) {
  const unit = 10 ** Math.floor(Math.log10(high / 3));
  const step = [1, 2, 5, 10].map((each) => each * unit).find((each) => high / each <= 6);
  const values = [];
  for (let place = 0; place * step <= high; place += 1) values.push(Number((place * step).toPrecision(6)));
  return { tickvals: values, ticktext: values.map(shortFigure) };
}

function shortFigure(value) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
  }
  return String(Number(value.toPrecision(3)));
}

// Nanoseconds as a person says them.
function time(ns) {
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (ns >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
  }
  return `${Number(ns.toPrecision(3))} ns`;
}

function draw(element, traces, wanted) {
  // A page about to be printed does not resize its plots by itself.
  const size = root.classList.contains("paper") ? { width: element.clientWidth } : {};
  Plotly.react(element, traces, layout({ ...wanted, ...size }), { displayModeBar: false, responsive: true });
}

// All panels of a row are made at once: the width of each depends on how many there are.
function panel(parent, index, count, height) {
  const row = document.getElementById(parent);
  while (row.childElementCount < count) row.append(document.createElement("div"));
  const element = row.children[index];
  element.style.height = `${height}px`;
  return element;
}

// Places for labels, the topmost first, each as near to its wish as a distance of `gap` allows.
function spreadOut(wishes, gap) {
  const order = wishes.map((wish, index) => ({ wish, index })).sort((a, b) => b.wish - a.wish);
  // Labels that would overlap form a group around the mean of their wishes.
  const groups = [];
  for (const { wish, index } of order) {
    groups.push({ wishes: [wish], members: [index] });
    const centre = (group) => group.wishes.reduce((sum, each) => sum + each, 0) / group.wishes.length;
    const half = (group) => (group.members.length * gap) / 2;
    while (groups.length > 1) {
      const [upper, lower] = groups.slice(-2);
      if (centre(upper) - half(upper) >= centre(lower) + half(lower)) break;
      groups.splice(-2, 2, {
        wishes: upper.wishes.concat(lower.wishes),
        members: upper.members.concat(lower.members),
      });
    }
  }
  const places = [];
  for (const group of groups) {
    const centre = group.wishes.reduce((sum, each) => sum + each, 0) / group.wishes.length;
    group.members.forEach((index, place) => {
      places[index] = centre + ((group.members.length - 1) / 2 - place) * gap;
    });
  }
  return places;
}

// Pixels that the longest of some names needs.
const across = (names) => Math.max(0, ...names.map((name) => name.length)) * 7.4 + 14;

// Each line is named at its end, so that nobody has to look up twelve colours. heights: where the
// lines end, as shares of a plot that is `inner` pixels high. from, to: where the strokes from the
// lines to their names begin and end on the horizontal axis. styled: how what has that name looks.
function nameEnds(names, heights, inner, from, to, styled = style) {
  const gap = 15 / inner;
  const places = spreadOut(heights, gap);
  // Many lines that end at the top or the bottom: their names stay within the plot.
  const byHeight = places.map((_, index) => index).sort((a, b) => places[b] - places[a]);
  byHeight.forEach((index, rank) => { places[index] = Math.min(places[index], 1 - rank * gap); });
  byHeight.reverse().forEach((index, rank) => { places[index] = Math.max(places[index], rank * gap); });
  return {
    annotations: names.map((name, index) => nameAt(name, places[index], styled)),
    shapes: names.map((name, index) => ({
      type: "line", x0: from, x1: to, yref: "paper", y0: heights[index], y1: places[index],
      line: { color: styled(name).colour, width: 1 }, opacity: 0.6,
    })),
  };
}

function nameAt(name, y, styled = style) {
  return {
    x: 1, xref: "paper", xanchor: "left", xshift: 3, y, yref: "paper", yanchor: "middle",
    text: name === DATA.baseline ? `<b>${name}</b>` : name, showarrow: false,
    font: { size: 12, color: styled(name).colour },
  };
}

// A click on a heading sorts by that column, a second one turns the order round. Rows without a
// value stay last either way.
function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  headings.forEach((heading, column) => {
    heading.querySelector("button").onclick = () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const each of headings) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.key ?? "";
      const rows = [...body.rows].sort((a, b) => {
        const [one, other] = [key(a), key(b)];
        if (one === "" || other === "") return (one === "") - (other === "");
        const order = Number.isNaN(Number(one)) ? one.localeCompare(other) : one - other;
        return down ? -order : order;
      });
      body.append(...rows);
    };
  });
}

// Sorts tables, and follows the reader's choice of light or dark: `themed` draws everything whose
// colours depend on it.
function startPage(themed) {
  const setTheme = (dark) => {
    root.classList.toggle("dark", dark);
    root.style.colorScheme = dark ? "dark" : "light";
    document.getElementById("theme").textContent = dark ? "Light" : "Dark";
    themed();
  };
  const preference = window.matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", () => setTheme(preference.matches));
  document.getElementById("theme").onclick = () => setTheme(!root.classList.contains("dark"));
  // On paper: black on white, and as wide as the paper is.
  let before = null;
  window.addEventListener("beforeprint", () => {
    before = root.classList.contains("dark");
    root.classList.add("paper");
    setTheme(false);
  });
  window.addEventListener("afterprint", () => {
    root.classList.remove("paper");
    setTheme(before);
  });
  document.querySelectorAll("table").forEach(makeSortable);
  setTheme(preference.matches);
}
