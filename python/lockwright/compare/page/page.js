"use strict";

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
const shown = new Set(DATA.locks);
let logarithmic = null;

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

// Ticks of a logarithmic axis: powers of ten, and 2 and 5 between them where there are few.
function logTicks(low, high) {
  const steps = Math.log10(high / low) > 3 ? [1] : [1, 2, 5];
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) values.push(Number((step * 10 ** power).toPrecision(2)));
  }
  return { tickvals: values, ticktext: values.map(shortFigure) };
}

function shortFigure(value) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
  }
  return String(value);
}

function draw(element, traces, wanted) {
  Plotly.react(element, traces, layout(wanted), { displayModeBar: false, responsive: true });
}

function drawByThreads() {
  const section = document.getElementById("by-threads-section");
  section.hidden = DATA.panels.length < 2;
  if (section.hidden) return;
  const medians = DATA.panels.flatMap((panel) => panel.rows.map((row) => row.median))
    .filter((value) => value !== null && value > 0);
  const low = Math.min(...medians);
  const high = Math.max(...medians);
  // Locks that collapse leave a linear scale with one readable line.
  if (logarithmic === null) logarithmic = high / low > 8;
  const traces = DATA.locks.filter((lock) => shown.has(lock)).map((lock) => {
    const { colour, marker, dash } = style(lock);
    const rows = DATA.panels.map((panel) => panel.rows.find((row) => row.lock === lock));
    return {
      type: "scatter",
      mode: "lines+markers",
      name: lock,
      x: DATA.panels.map((panel) => String(panel.threads)),
      y: rows.map((row) => row.median),
      text: rows.map((row) => row.spread === null ? "" : `, rel. sd ${(100 * row.spread).toFixed(1)} %`),
      line: { color: colour, width: lock === DATA.baseline ? 3 : 2, dash },
      marker: { color: colour, symbol: marker, size: 10 },
      hovertemplate: `<b>${lock}</b>, %{x} threads<br>%{y:.5g} ${DATA.unit}%{text}<extra></extra>`,
    };
  });
  document.getElementById("scale").textContent = logarithmic ? "Linear scale" : "Logarithmic scale";
  draw("by-threads", traces, {
    margin: { l: 10, r: 24, t: 12, b: 44 },
    xaxis: { type: "category", title: { text: "threads" } },
    yaxis: {
      title: { text: `${DATA.quantity}${DATA.quantity === DATA.unit ? "" : ` (${DATA.unit})`}, ${DATA.lowerIsBetter ? "lower" : "higher"} is better` },
      ...(logarithmic
        ? { type: "log", ...logTicks(low, high) }
        : { type: "linear", rangemode: "tozero" }),
    },
  });
}

// All panels of a row are made at once: the width of each depends on how many there are.
function panel(parent, index, height) {
  const row = document.getElementById(parent);
  while (row.childElementCount < DATA.panels.length) row.append(document.createElement("div"));
  const element = row.children[index];
  element.style.height = `${height}px`;
  return element;
}

function drawRatios() {
  const all = DATA.panels.flatMap((each) => each.rows)
    .filter((row) => row.ratio && shown.has(row.lock)).flatMap((row) => row.ratio)
    .filter((value) => value !== null);
  // One scale for all panels. Few rounds make intervals so wide that the bars would vanish.
  const ratios = DATA.panels.flatMap((each) => each.rows)
    .filter((row) => row.ratio && shown.has(row.lock)).map((row) => row.ratio[0]);
  const low = Math.max(Math.min(0.8, ...all), Math.min(0.8, ...ratios) / 4) * 0.92;
  const high = Math.min(Math.max(1.25, ...all), Math.max(1.25, ...ratios) * 4) * 1.08;
  DATA.panels.forEach((each, index) => {
    const rows = each.rows.filter((row) => row.lock !== DATA.baseline && shown.has(row.lock));
    const traces = rows.map((row) => {
      const { colour } = style(row.lock);
      const [value, from, to] = row.ratio || [null, null, null];
      return {
        type: "bar",
        orientation: "h",
        y: [`${row.lock} ${row.mark || " "}`],
        base: [1],
        x: [value === null ? null : value - 1],
        marker: { color: colour, opacity: 0.85 },
        error_x: from === null ? undefined : {
          type: "data", symmetric: false, array: [to - value], arrayminus: [value - from],
          color: css("--ink"), thickness: 1.4, width: 4,
        },
        hovertemplate: `<b>${row.lock}</b>: ${figure(value)}${from === null ? "" : ` (${figure(from)} to ${figure(to)})`}<extra></extra>`,
      };
    });
    draw(panel("ratios", index, 100 + 26 * Math.max(rows.length, 3)), traces, {
      title: { text: each.label, x: 0, xanchor: "left", font: { size: 14 } },
      bargap: 0.3,
      barmode: "overlay",
      xaxis: { type: "log", range: [Math.log10(low), Math.log10(high)], ...logTicks(low, high) },
      yaxis: {
        type: "category",
        autorange: "reversed",
        categoryorder: "array",
        categoryarray: rows.map((row) => `${row.lock} ${row.mark || " "}`),
        showgrid: false,
      },
      shapes: [{
        type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1,
        line: { color: css("--ink"), width: 1.5 },
      }],
      annotations: rows.filter((row) => !row.ratio).map((row) => ({
        x: 1, y: `${row.lock} ${row.mark || " "}`, xref: "paper", xanchor: "right", showarrow: false,
        text: "no ratio: runs did not finish", font: { size: 11, color: css("--caution") },
      })),
    });
  });
}

function drawRuns() {
  DATA.panels.forEach((each, index) => {
    const rows = each.rows.filter((row) => shown.has(row.lock));
    const values = each.runs.filter((run) => run.round >= 1 && run.value > 0 && shown.has(run.lock))
      .map((run) => run.value);
    const low = Math.min(...values);
    const high = Math.max(...values);
    const log = values.length > 0 && high / low > 8;
    const spare = DATA.runs > 1 ? 0.6 / (DATA.runs - 1) : 0;
    const place = (column, round) => column + (DATA.runs > 1 ? (round - 1) * spare - 0.3 : 0);
    // A run without a value stands on the bad side of the others.
    const steps = log ? [low / 1.6, high * 1.6] : [0, high * 1.1 || 1];
    const nowhere = steps[DATA.lowerIsBetter ? 1 : 0];
    const traces = rows.map((row, column) => {
      const { colour, marker } = style(row.lock);
      const runs = each.runs.filter((run) => run.lock === row.lock && run.round >= 1);
      const finished = (run) => run.value !== null;
      return {
        type: "scatter",
        mode: "markers",
        x: runs.map((run) => place(column, run.round)),
        y: runs.map((run) => (finished(run) ? run.value : nowhere)),
        marker: {
          color: runs.map((run) => (finished(run) ? colour : css("--caution"))),
          symbol: runs.map((run) => (finished(run) ? marker : "x-thin-open")),
          line: { width: runs.map((run) => (finished(run) ? 0 : 2)) },
          size: 8,
        },
        text: runs.map((run) => {
          const what = finished(run) ? `${figure(run.value)} ${DATA.unit}` : `${run.outcome}: ${run.note}`;
          const others = run.others === null ? "" : `<br>other processes: ${(100 * run.others).toFixed(0)} % of the machine`;
          return `<b>${row.lock}</b>, round ${run.round}<br>${what}${others}`;
        }),
        hovertemplate: "%{text}<extra></extra>",
      };
    });
    draw(panel("runs", index, 340), traces, {
      title: { text: each.label, x: 0, xanchor: "left", font: { size: 14 } },
      xaxis: {
        tickvals: rows.map((_, column) => column),
        ticktext: rows.map((row) => row.lock),
        tickangle: rows.length > 5 ? -40 : 0,
        range: [-0.6, rows.length - 0.4],
        showgrid: false,
      },
      yaxis: {
        title: { text: DATA.unit },
        ...(log ? { type: "log", ...logTicks(low, high) } : { type: "linear", rangemode: "tozero" }),
      },
    });
  });
}

function redraw() {
  drawByThreads();
  drawRatios();
  drawRuns();
}

// The marker of a lock as a small picture, drawn by plotly's own symbol paths.
function symbol(lock) {
  const { colour, marker } = style(lock);
  const paths = {
    "circle": "M5,0A5,5 0 1,1 0,-5A5,5 0 0,1 5,0Z",
    "square": "M4.5,4.5H-4.5V-4.5H4.5Z",
    "diamond": "M6,0L0,6L-6,0L0,-6Z",
    "triangle-up": "M-6,4H6L0,-6Z",
    "triangle-down": "M-6,-4H6L0,6Z",
    "star": "M1.6,-2.1H6.3L2.6,.8L4,5.4L0,2.6L-4,5.4L-2.6,.8L-6.3,-2.1H-1.6L0,-6.6Z",
    "cross": "M6,2H2V6H-2V2H-6V-2H-2V-6H2V-2H6Z",
    "x": "M0,2.8L2.8,5.6L5.6,2.8L2.8,0L5.6,-2.8L2.8,-5.6L0,-2.8L-2.8,-5.6L-5.6,-2.8L-2.8,0L-5.6,2.8L-2.8,5.6Z",
    "pentagon": "M5.7,-1.9L3.5,4.9H-3.5L-5.7,-1.9L0,-6Z",
    "hexagram": "M-6,-3.5H-2L0,-7L2,-3.5H6L4,0L6,3.5H2L0,7L-2,3.5H-6L-4,0Z",
    "bowtie": "M6,5V-5L-6,5V-5Z",
    "hourglass": "M5,6H-5L5,-6H-5Z",
  };
  return `<svg viewBox="-7 -7 14 14" aria-hidden="true"><path fill="${colour}" d="${paths[marker]}"/></svg>`;
}

function drawChips() {
  const chips = document.getElementById("chips");
  chips.replaceChildren();
  for (const lock of DATA.locks) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Click to hide or show, double-click to show alone";
    button.setAttribute("aria-pressed", String(shown.has(lock)));
    button.innerHTML = symbol(lock);
    button.append(lock);
    button.onclick = (event) => {
      if (event.detail > 1) {
        const alone = shown.size === 1 && shown.has(lock);
        shown.clear();
        for (const each of alone ? DATA.locks : [lock]) shown.add(each);
      } else if (!shown.delete(lock)) {
        shown.add(lock);
      }
      for (const [place, each] of [...chips.children].entries()) {
        each.setAttribute("aria-pressed", String(shown.has(DATA.locks[place])));
      }
      redraw();
    };
    chips.append(button);
  }
}

function setTheme(dark) {
  root.classList.toggle("dark", dark);
  root.style.colorScheme = dark ? "dark" : "light";
  document.getElementById("theme").textContent = dark ? "Light" : "Dark";
  drawChips();
  redraw();
}

const preference = window.matchMedia("(prefers-color-scheme: dark)");
preference.addEventListener("change", () => setTheme(preference.matches));
document.getElementById("theme").onclick = () => setTheme(!root.classList.contains("dark"));
document.getElementById("scale").onclick = () => {
  logarithmic = !logarithmic;
  drawByThreads();
};
setTheme(preference.matches);
