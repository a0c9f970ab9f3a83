// The colours of distances, from the same core to the farthest package.
const DISTANCE_COLOURS = ["#1b7837", "#5aae61", "#a6dba0", "#e3b94f", "#e0782f", "#b2182b"];

for (const lock of DATA.locks) if (!DATA.first.includes(lock)) shown.delete(lock);

function drawRatesByThreads(element) {
  element.style.height = "440px";
  const series = visible().map((lock) => ({
    name: lock,
    values: DATA.rates[lock],
    texts: DATA.rates[lock].map((rate, index) => `${DATA.counts[index]} threads: ${shortNumber(rate ?? 0)}`),
  }));
  drawLinePlot(element, series, {
    xTitle: "threads", yTitle: "operations per second, simulated", categories: DATA.counts, logarithmic: true,
  });
}

// Draws a bar for each lock. series: name, colour and the locks' values.
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
  if (document.getElementById("handovers")) drawMoves("handovers", "share of the acquisitions");
}

startPage(() => {
  drawChips();
  redraw();
});
