// From the same core, dark, to the farthest package.
const DISTANCE_COLOURS = ["#1b7837", "#5aae61", "#a6dba0", "#e3b94f", "#e0782f", "#b2182b"];

for (const lock of DATA.locks) if (!DATA.first.includes(lock)) shown.delete(lock);

const visible = () => DATA.locks.filter((lock) => shown.has(lock));

function drawRatesByThreads(element) {
  const locks = visible();
  const rates = Object.values(DATA.rates).flat().filter((rate) => rate > 0);
  const [low, high] = [Math.min(...rates) / 1.3, Math.max(...rates) * 1.3].map(Math.log10);
  const height = 440, top = 12, bottom = 46, inner = height - top - bottom;
  element.style.height = `${height}px`;
  const last = DATA.counts.length - 1;
  const ends = locks.filter((lock) => DATA.rates[lock][last] > 0);
  const heights = ends.map((lock) => (Math.log10(DATA.rates[lock][last]) - low) / (high - low));
  const right = 1.12 * last;
  const names = nameEnds(ends, heights, inner, 1.03 * last, right);
  const traces = locks.map((lock) => {
    const { colour, marker, dash } = style(lock);
    return {
      type: "scatter",
      mode: "lines+markers",
      x: DATA.counts.map((_, index) => index),
      y: DATA.rates[lock],
      text: DATA.counts.map((count) => `${count} threads`),
      line: { color: colour, width: lock === DATA.baseline ? 3 : 2, dash },
      marker: { color: colour, symbol: marker, size: 10 },
      hovertemplate: `<b>${lock}</b>, %{text}: %{y:.3s}<extra></extra>`,
    };
  });
  draw(element, traces, {
    margin: { l: 12, r: across(locks), t: top, b: bottom },
    xaxis: {
      title: { text: "threads", font: { size: 13 } },
      range: [-0.06 * last, right],
      tickvals: DATA.counts.map((_, index) => index),
      ticktext: DATA.counts.map(String),
    },
    yaxis: {
      title: { text: "operations per second, simulated", font: { size: 13 } },
      type: "log",
      range: [low, high],
      ...logTicks(10 ** low, 10 ** high, inner),
    },
    ...names,
  });
}

// A line for each lock. series: name, colour and the locks' values.
function drawBars(element, title, series) {
  const locks = visible().filter((lock) => lock in DATA.moves);
  element.style.height = `${110 + 24 * Math.max(locks.length, 2)}px`;
  const traces = series.map(({ name, colour, value }) => ({
    type: "bar",
    orientation: "h",
    name,
    y: locks,
    x: locks.map(value),
    marker: { color: typeof colour === "function" ? locks.map(colour) : colour },
    hovertemplate: `<b>%{y}</b>, ${name}: %{x:.3s}<extra></extra>`,
  }));
  draw(element, traces, {
    barmode: "stack",
    bargap: 0.3,
    showlegend: series.length > 1,
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "normal" },
    margin: { l: 10, r: 24, t: series.length > 1 ? 60 : 12, b: 46 },
    xaxis: { title: { text: title, font: { size: 13 } }, rangemode: "tozero" },
    yaxis: { type: "category", autorange: "reversed", showgrid: false },
  });
}

function drawMoves(id, title) {
  drawBars(document.getElementById(id), title, DATA.distances.map((name, index) => ({
    name,
    colour: DISTANCE_COLOURS[index],
    value: (lock) => DATA.moves[lock][id][index],
  })).filter((each) => Object.keys(DATA.moves).some((lock) => each.value(lock) > 0)));
}

function redraw() {
  const element = document.getElementById("rates");
  if (DATA.counts.length > 1) {
    drawRatesByThreads(element);
  } else {
    drawBars(element, "operations per second, simulated", [{
      name: "throughput",
      colour: (lock) => style(lock).colour,
      value: (lock) => DATA.rates[lock][0],
    }]);
  }
  drawMoves("transfers", "lines per acquisition");
  drawMoves("handovers", "share of the acquisitions");
}

startPage(() => {
  drawChips();
  redraw();
});
