// One page is shown at a time, the one after # in the address. Its plots are drawn when it is shown.

const ROW_HEIGHT = 19;
const mean = (values) => values.reduce((sum, each) => sum + each, 0) / values.length;
const withoutNull = (values) => values.filter((value) => value !== null && value !== undefined);
const address = (kind, name) => `#${encodeURIComponent(kind)}/${encodeURIComponent(name.replaceAll(" ", "_"))}`;

// Returns the name of a row, a column or a line as a link to its page.
function linkedName(kind, name, colour = css("--link")) {
  const text = name.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return kind ? `<a href="${address(kind, name)}" target="_self" style="color:${colour}">${text}</a>` : text;
}

function heatColour(share) {
  const part = (name) => {
    const hex = css(name).replace("#", "");
    return [0, 2, 4].map((index) => parseInt(hex.slice(index, index + 2), 16));
  };
  const [from, to] = [part("--paper"), part("--worst")];
  return `rgb(${from.map((each, index) => Math.round(each + share * (to[index] - each))).join(",")})`;
}

const axisTitle = (text) => ({ text, font: { size: 13 } });

// Returns a logarithmic axis over the shown values.
function logAxis(values, width, more = 1.12) {
  const low = Math.min(...values) / more;
  const high = Math.max(...values) * more;
  return { type: "log", range: [Math.log10(low), Math.log10(high)], ...logTicks(low, high, width) };
}

function drawHeat(element, plot) {
  const left = labelWidth(plot.rows);
  const cell = Math.min(64, Math.max(16, (element.clientWidth - left - 90) / plot.columns.length));
  const top = 0.82 * labelWidth(plot.columns) + 14;
  // With a few rows there is no room for a scale.
  const scaled = plot.rows.length >= 8;
  const height = top + 16 + ROW_HEIGHT * plot.rows.length;
  element.style.height = `${height}px`;
  const [pale, full] = plot.ends;
  const shares = plot.values.map((line) => line.map((value) => (value === null ? null
    : Math.max(0, Math.min(1, (value - pale) / (full - pale))))));
  const steps = [0, 0.25, 0.5, 0.75, 1];
  const asText = (share) => {
    const value = pale + share * (full - pale);
    return plot.scale.startsWith("%") ? `${Math.round(100 * value)}` : String(Number(value.toPrecision(2)));
  };
  draw(element, [{
    type: "heatmap",
    z: shares,
    x: plot.columns.map((_, index) => index),
    y: plot.rows.map((_, index) => index),
    text: plot.texts,
    texttemplate: cell >= 20 ? "%{text}" : "",
    textfont: { size: 10.5 },
    customdata: plot.rows.map((row) => plot.columns.map((column) => [row, column])),
    hovertemplate: "%{customdata[0]}, %{customdata[1]}: %{text}<extra></extra>",
    hoverongaps: false,
    xgap: 1,
    ygap: 1,
    zmin: 0,
    zmax: 1,
    showscale: scaled,
    colorscale: steps.map((share) => [share, heatColour(0.9 * share)]),
    colorbar: {
      title: { text: plot.scale, side: "right", font: { size: 12 } },
      thickness: 10,
      len: Math.min(1, 200 / height),
      lenmode: "fraction",
      y: 1,
      yanchor: "top",
      tickvals: steps,
      ticktext: steps.map(asText),
      tickfont: { size: 11 },
      outlinewidth: 0,
    },
  }], {
    width: Math.min(element.clientWidth, left + 90 + cell * plot.columns.length),
    plot_bgcolor: css("--line"),
    margin: { l: left, r: 80, t: top, b: 12 },
    xaxis: {
      side: "top",
      tickangle: -55,
      tickvals: plot.columns.map((_, index) => index),
      ticktext: plot.columns.map((name) => linkedName(plot.of_columns, name)),
      range: [-0.5, plot.columns.length - 0.5],
      automargin: false,
      showgrid: false,
    },
    yaxis: {
      tickvals: plot.rows.map((_, index) => index),
      ticktext: plot.rows.map((name) => linkedName(plot.of_rows, name)),
      range: [plot.rows.length - 0.5, -0.5],
      automargin: false,
      showgrid: false,
    },
  });
}

// The legend is above the plot, to leave it the full width.
const LEGEND = { showlegend: true, legend: { orientation: "h", x: 0, y: 1, xanchor: "left", yanchor: "bottom", font: { size: 12 } } };
const legendOf = (plot) => (plot.series.length > 1 ? LEGEND : {});
const SHADES = ["#8a94a6", "#d1495b", "#2f6fdd"];
const seriesColour = (index, all) => SHADES[all === 1 ? 2 : index % SHADES.length];

function drawDots(element, plot) {
  const left = labelWidth(plot.rows);
  element.style.height = `${70 + ROW_HEIGHT * plot.rows.length}px`;
  const rows = plot.rows.map((_, row) => row);
  const values = plot.series.flatMap((each) => withoutNull([...each.values, ...each.high]).concat(
    withoutNull(each.low).filter((low) => low > 0)));
  if (plot.line !== null) values.push(plot.line);
  const width = element.clientWidth - left - 40;
  const traces = plot.series.map((each, index) => {
    const colour = seriesColour(index, plot.series.length);
    const has = each.low.length > 0;
    return {
      type: "scatter",
      mode: "markers",
      name: each.name,
      x: each.values,
      y: rows.map((row) => row + (index - (plot.series.length - 1) / 2) * 0.22),
      marker: { color: colour, symbol: MARKERS[index], size: 8 },
      cliponaxis: false,
      error_x: has ? {
        type: "data", symmetric: false, thickness: 1.2, width: 0, color: colour,
        array: each.values.map((value, row) => (each.high[row] === null ? 0 : each.high[row] - value)),
        arrayminus: each.values.map((value, row) => (each.low[row] === null ? 0 : value - each.low[row])),
      } : undefined,
      text: each.values.map((value, row) => `<b>${plot.rows[row]}</b> ${each.name}: ${numberText(value)}`
        + (has && each.low[row] !== null ? ` (${numberText(each.low[row])} to ${numberText(each.high[row])})` : "")),
      hovertemplate: "%{text}<extra></extra>",
    };
  });
  draw(element, traces, {
    ...legendOf(plot),
    margin: { l: left, r: 24, t: 30, b: 40 },
    xaxis: { title: axisTitle(plot.axis), ...(plot.logarithmic ? logAxis(values, width) : { rangemode: "tozero" }) },
    yaxis: {
      tickvals: rows,
      ticktext: plot.rows.map((name) => linkedName(plot.of_rows, name)),
      range: [plot.rows.length - 0.4, -0.6],
      automargin: false,
    },
    shapes: plot.line === null ? [] : [{
      type: "line", x0: plot.line, x1: plot.line, yref: "paper", y0: 0, y1: 1,
      line: { color: css("--soft"), width: 1, dash: "dot" },
    }],
  });
}

function drawLines(element, plot) {
  const lines = plot.series.filter((each) => withoutNull(each.values).length);
  const height = Math.max(340, 90 + 15 * lines.length);
  element.style.height = `${height}px`;
  const top = 12, bottom = 46, plotHeight = height - top - bottom;
  const values = lines.flatMap((each) => withoutNull(each.values)).filter((value) => !plot.logarithmic || value > 0);
  const most = Math.max(...values), least = Math.min(...values);
  const range = plot.logarithmic
    ? [Math.log10(least / 1.15), Math.log10(most * 1.15)] : [0, most * 1.05];
  const ys = plot.logarithmic ? logTicks(least / 1.15, most * 1.15, plotHeight) : linearTicks(most * 1.05);
  const position = (value) => ((plot.logarithmic ? Math.log10(value) : value) - range[0]) / (range[1] - range[0]);
  const xs = plot.steps ? plot.x.map((_, index) => index) : plot.x;
  const ends = lines.map((each) => withoutNull(each.values).at(-1));
  const right = labelWidth(lines.map((each) => each.name));
  const span = xs.at(-1) - xs[0] || 1;
  const pad = plot.steps ? 0.03 * span : 0;
  const beyond = xs.at(-1) + 0.04 * span;
  const names = endLabels(lines.map((each) => each.name), ends.map(position), plotHeight, xs.at(-1) + 0.01 * span, beyond);
  draw(element, lines.map((each) => ({
    type: "scatter",
    mode: plot.steps ? "lines+markers" : "lines",
    x: xs,
    y: each.values,
    connectgaps: true,
    // Counts are joined by lines; a share is constant up to the next application.
    line: { shape: plot.steps ? "linear" : "hv", color: style(each.name).colour, dash: style(each.name).dash, width: each.name === DATA.baseline ? 3 : 1.8 },
    marker: { color: style(each.name).colour, symbol: style(each.name).marker, size: 8 },
    text: plot.x.map((x, index) => `<b>${each.name}</b> at ${numberText(x)}: ${numberText(each.values[index])}`),
    hovertemplate: "%{text}<extra></extra>",
  })), {
    hovermode: "closest",
    margin: { l: 12, r: right, t: top, b: bottom },
    xaxis: {
      title: axisTitle(plot.x_axis),
      range: [xs[0] - pad, beyond],
      ...(plot.steps ? { tickvals: xs, ticktext: plot.x.map(String) } : {}),
    },
    yaxis: { title: axisTitle(plot.y_axis), type: plot.logarithmic ? "log" : "linear", range, ...ys },
    shapes: names.shapes,
    annotations: names.annotations.map((each, index) => ({
      ...each,
      text: linkedName(DATA.locks.includes(lines[index].name) ? "lock" : "", lines[index].name, style(lines[index].name).colour),
    })),
  });
  // Highlights the line under the pointer.
  element.removeAllListeners?.("plotly_hover");
  element.removeAllListeners?.("plotly_unhover");
  element.on("plotly_hover", ({ points }) => Plotly.restyle(element, {
    opacity: lines.map((_, index) => (index === points[0].curveNumber ? 1 : 0.15)),
  }));
  element.on("plotly_unhover", () => Plotly.restyle(element, { opacity: 1 }));
}

function drawBars(element, plot) {
  element.style.height = "340px";
  const width = Math.min(element.clientWidth, 160 + 90 * plot.categories.length);
  const slanted = width / plot.categories.length < labelWidth(plot.categories);
  draw(element, plot.series.map((each, index) => ({
    type: "bar",
    name: each.name,
    x: plot.categories,
    y: each.values,
    text: each.values.map((value) => (value === null ? "" : value.toFixed(0))),
    textposition: "outside",
    cliponaxis: false,
    marker: { color: seriesColour(index, plot.series.length) },
    hovertemplate: "%{x}: %{y:.1f}<extra></extra>",
  })), {
    ...legendOf(plot),
    width,
    bargap: 0.35,
    margin: { l: 12, r: 24, t: 34, b: 40 },
    xaxis: { type: "category", tickangle: slanted ? -40 : 0, showgrid: false },
    yaxis: { title: axisTitle(plot.axis), rangemode: "tozero" },
  });
}

function drawPoints(element, plot) {
  element.style.height = "560px";
  const values = [1, 2].map((which) => plot.clouds.flatMap((cloud) => cloud[which]).filter((value) => value > 0));
  const all = values.flat();
  const names = plot.clouds.map(([name]) => name);
  const width = Math.min(element.clientWidth, 980);
  const low = plot.logarithmic ? Math.min(...all) : 0;
  const high = Math.max(...all);
  const axis = (own) => (plot.logarithmic ? logAxis(own, 520) : { range: [0, high * 1.04] });
  draw(element, plot.clouds.map(([name, xs, ys, labels], index) => ({
    type: "scatter",
    mode: "markers",
    name,
    x: xs,
    y: ys,
    text: labels.map((label, point) => `<b>${name}</b>, ${label}<br>${numberText(xs[point])}, ${numberText(ys[point])}`),
    marker: {
      color: COLOURS[index % COLOURS.length],
      symbol: MARKERS[(index + Math.floor(index / COLOURS.length)) % MARKERS.length],
      size: 6,
      opacity: 0.75,
    },
    hovertemplate: "%{text}<extra></extra>",
  })), {
    width,
    showlegend: names.length > 1,
    legend: { font: { size: 11.5 }, tracegroupgap: 0, itemsizing: "constant" },
    margin: { l: 12, r: 12, t: 12, b: 46 },
    hovermode: "closest",
    xaxis: { title: axisTitle(plot.x_axis), ...axis(values[0]) },
    yaxis: { title: axisTitle(plot.y_axis), ...axis(values[1]) },
    shapes: plot.diagonal ? [{
      type: "line", x0: low, y0: low, x1: high, y1: high,
      line: { color: css("--soft"), width: 1, dash: "dot" },
    }] : [],
  });
}

function drawBoxes(element, plot) {
  const left = labelWidth(plot.rows);
  element.style.height = `${70 + ROW_HEIGHT * plot.rows.length}px`;
  draw(element, plot.rows.map((row, index) => ({
    type: "box",
    orientation: "h",
    x: plot.values[index],
    y0: index,
    name: row,
    text: plot.labels[index].map((label) => `${label}`),
    boxpoints: "all",
    jitter: 0.4,
    pointpos: 0,
    width: 0.7,
    marker: { color: seriesColour(0, 1), size: 4, opacity: 0.6 },
    line: { width: 1.4 },
    hovertemplate: "%{text}: %{x:.0f} %<extra></extra>",
    hoveron: "points",
  })), {
    margin: { l: left, r: 24, t: 12, b: 44 },
    xaxis: { title: axisTitle(plot.axis), rangemode: "tozero" },
    yaxis: {
      tickvals: plot.rows.map((_, index) => index),
      ticktext: plot.rows.map((name) => linkedName(DATA.locks.includes(name) ? plot.of_rows : "", name)),
      range: [plot.rows.length - 0.4, -0.6],
      automargin: false,
    },
  });
}

const DRAW = {
  heat: drawHeat, dots: drawDots, lines: drawLines, bars: drawBars, points: drawPoints, boxes: drawBoxes,
};

const pages = [...document.querySelectorAll("section.page")];
let current = null;

function drawPage() {
  for (const element of current.querySelectorAll(".plot")) {
    const plot = DATA.figures[element.dataset.figure];
    DRAW[plot.kind](element, plot);
  }
}

function show() {
  const wanted = decodeURIComponent(window.location.hash.slice(1)) || "overview";
  const target = document.getElementById(wanted);
  const page = target?.closest("section.page") ?? pages[0];
  if (page !== current) {
    current?.querySelectorAll(".js-plotly-plot").forEach((element) => Plotly.purge(element));
    current = page;
    for (const each of pages) each.hidden = each !== page;
    const group = { program: "programs", lock: "locks" }[page.id.split("/")[0]] ?? page.id;
    for (const link of document.querySelectorAll("#pages a")) {
      const its = decodeURIComponent(link.hash.slice(1));
      if (its === group) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    drawPage();
    window.scrollTo(0, 0);
  }
  if (target && target !== page) target.scrollIntoView();
}

startPage(() => {
  if (current) drawPage();
  else show();
});
window.addEventListener("hashchange", show);
