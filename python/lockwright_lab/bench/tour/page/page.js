const median = (point) => (point === null ? null : point.median);
const threadsText = (count) => `${count} thread${count > 1 ? "s" : ""}`;

// Returns the line that separates over-subscription from as many threads as processors.
function oversubscriptionLine(threads) {
  const index = threads.indexOf(DATA.processors);
  return index < 0 || index === threads.length - 1 ? [] : [{
    type: "line", x0: index + 0.5, x1: index + 0.5, yref: "paper", y0: 0, y1: 1,
    line: { color: css("--soft"), width: 1, dash: "dot" },
  }];
}

function drawThroughput() {
  const element = document.getElementById("throughput");
  element.style.height = "460px";
  const series = visible().map((lock) => ({
    name: lock,
    values: DATA.throughput[lock].map(median),
    texts: DATA.throughput[lock].map((point, index) => point && `${threadsText(DATA.threads[index])}<br>`
      + `${numberText(point.median)} op/s (${numberText(point.least)} to ${numberText(point.most)})`
      + (point.ratio ? `<br>${numberText(point.ratio[0])} times libc` : "")),
  }));
  drawLinePlot(element, series, {
    xTitle: "threads", yTitle: "acquisitions per second, higher is better", categories: DATA.threads,
    logarithmic: true, shapes: oversubscriptionLine(DATA.threads),
  });
}

function drawLatency() {
  // One scale for all panels.
  const all = DATA.latency.flatMap((each) => visible().flatMap((lock) => each[lock]))
    .filter((value) => value !== null && value > 0);
  if (!all.length) return;
  const range = [Math.log10(Math.min(...all) / 1.4), Math.log10(Math.max(...all) * 1.4)];
  const categories = DATA.percentiles.map((name) => (name === "max" ? "longest" : name));
  DATA.latency.forEach((each, index) => {
    const series = visible().map((lock) => ({
      name: lock,
      values: each[lock],
      texts: each[lock].map((value, place) => value && `${categories[place]}: ${durationText(value)}`),
    }));
    drawLinePlot(panel("latency", index, DATA.latency.length, 420), series, {
      title: threadsText(DATA.metered[index]), xTitle: "", yTitle: index ? "" : "acquisition, lower is better",
      categories, logarithmic: true, range, ticks: durationText,
    });
  });
}

function drawFairness() {
  const texts = (points, threads) => points.map((point, index) => point
    && `${threadsText(threads[index])}: ${numberText(point.median)}`);
  const series = (points, threads) => visible().map((lock) => ({
    name: lock, values: points[lock].map(median), texts: texts(points[lock], threads),
  }));
  drawLinePlot(panel("fairness", 0, 2, 380), series(DATA.gini, DATA.threads), {
    title: "Gini coefficient", xTitle: "threads", yTitle: "0: even, near 1: one thread", categories: DATA.threads,
    range: [-0.02, 1.02],
  });
  drawLinePlot(panel("fairness", 1, 2, 380), series(DATA.lwss, DATA.metered), {
    title: "Working set", xTitle: "threads", yTitle: "different threads in 1000 admissions", categories: DATA.metered,
    logarithmic: true,
  });
}

function drawUncontested() {
  const rows = visible().filter((lock) => lock !== DATA.baseline && DATA.uncontested[lock]?.ratio)
    .map((lock) => ({ lock, ratio: DATA.uncontested[lock].ratio }))
    .sort((a, b) => b.ratio[0] - a.ratio[0]);
  const element = document.getElementById("uncontested");
  element.style.height = `${70 + 26 * Math.max(rows.length, 3)}px`;
  const all = rows.flatMap((row) => row.ratio).filter((value) => value !== null);
  const ratios = rows.map((row) => row.ratio[0]);
  const low = Math.max(Math.min(0.9, ...all), Math.min(0.9, ...ratios) / 2) * 0.96;
  const high = Math.min(Math.max(1.1, ...all), Math.max(1.1, ...ratios) * 2) * 1.04;
  draw(element, rows.map(({ lock, ratio }) => (
    ratioBar(lock, lock, ratio, `, ${numberText(DATA.uncontested[lock].median)} op/s`)
  )), {
    margin: { l: 12, r: 24, t: 8, b: 40 },
    bargap: 0.3,
    barmode: "overlay",
    xaxis: { title: { text: "times libc", font: { size: 13 } }, range: [low, high] },
    yaxis: { type: "category", autorange: "reversed", showgrid: false },
    shapes: [{
      type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1, line: { color: css("--ink"), width: 1.5 },
    }],
  });
}

function drawNaps() {
  const element = document.getElementById("naps");
  element.style.height = "400px";
  const kinds = [["turnaround_ns", "turnaround"], ["wake_ns", "wake call"], ["sleep_ns", "sleep call"]];
  const styles = new Map(kinds.map(([, name], index) => [
    name, { colour: COLOURS[index], marker: MARKERS[index], dash: "solid" },
  ]));
  const series = kinds.map(([field, name]) => ({
    name,
    values: DATA.naps.map((row) => row[field]),
    texts: DATA.naps.map((row) => row[field] && `asleep for ${shortNumber(row.delay)} cycles: ${durationText(row[field])}`),
  }));
  drawLinePlot(element, series, {
    xTitle: "cycles from the sleep call to the wake call", yTitle: "", logarithmic: true, ticks: durationText,
    categories: DATA.naps.map((row) => shortNumber(row.delay)), styleOf: (name) => styles.get(name),
  });
}

function drawEnergy() {
  const element = document.getElementById("energy");
  if (!element) return;
  element.style.height = "460px";
  const traces = visible().map((lock) => {
    const { colour, marker } = style(lock);
    const rows = DATA.energy.filter((row) => row.lock === lock);
    return {
      type: "scatter",
      mode: "markers",
      name: lock,
      x: rows.map((row) => row.rate),
      y: rows.map((row) => row.per_joule),
      text: rows.map((row) => `${threadsText(row.threads)}<br>${numberText(row.rate)} op/s, ${numberText(row.per_joule)} op/J`),
      marker: { color: colour, symbol: marker, size: 10 },
      hovertemplate: `<b>${lock}</b>, %{text}<extra></extra>`,
    };
  });
  const axis = (name, text) => {
    const values = DATA.energy.map((row) => row[name]);
    const low = Math.min(...values) / 1.4, high = Math.max(...values) * 1.4;
    return {
      title: { text, font: { size: 13 } }, type: "log", range: [Math.log10(low), Math.log10(high)],
      ...logTicks(low, high, 400),
    };
  };
  draw(element, traces, {
    margin: { l: 12, r: 24, t: 12, b: 46 },
    showlegend: true,
    xaxis: axis("rate", "operations per second"),
    yaxis: axis("per_joule", "operations per joule"),
  });
}

function redraw() {
  drawThroughput();
  drawLatency();
  drawFairness();
  drawUncontested();
  drawNaps();
  drawEnergy();
}

startPage(() => {
  drawChips();
  redraw();
});
