let logarithmic = null;

const missing = (row) => (row.missing === "timeout" ? "timed out" : "failed");

function drawByThreads() {
  const section = document.getElementById("by-threads-section");
  section.hidden = DATA.panels.length < 2;
  if (section.hidden) return;
  const medians = DATA.panels.flatMap((panel) => panel.rows.map((row) => row.median)).filter((value) => value > 0);
  // On a linear scale, locks that collapse would compress all others.
  if (logarithmic === null) logarithmic = Math.max(...medians) / Math.min(...medians) > 8;
  document.getElementById("scale").textContent = logarithmic ? "Linear scale" : "Logarithmic scale";

  const without = [];
  const series = visible().map((lock) => {
    const rows = DATA.panels.map((panel) => panel.rows.find((row) => row.lock === lock));
    rows.forEach((row, index) => {
      if (row.missing) without.push(`${lock} at ${DATA.panels[index].label} (${missing(row)})`);
    });
    const texts = rows.map((row, index) => `${DATA.panels[index].label}<br>${numberText(row.median)} ${DATA.unit}`
      + (row.spread === null ? "" : `, rel. sd ${(100 * row.spread).toFixed(1)} %`));
    return { name: lock, values: rows.map((row) => row.median), texts };
  });
  const element = document.getElementById("by-threads");
  element.style.height = "440px";
  drawLinePlot(element, series, {
    xTitle: DATA.axis,
    yTitle: `${DATA.quantity}${DATA.quantity === DATA.unit ? "" : ` (${DATA.unit})`}, ${DATA.lowerIsBetter ? "lower" : "higher"} is better`,
    categories: DATA.panels.map((each) => each.threads),
    logarithmic,
  });
  document.getElementById("without-value").textContent = without.length ? `Without a value: ${without.join(", ")}.` : "";
}

function drawRatios() {
  const drawn = DATA.panels.flatMap((each) => each.rows)
    .filter((row) => row.ratio && shown.has(row.lock)).map((row) => row.ratio);
  const all = drawn.flat().filter((value) => value !== null);
  const ratios = drawn.map((ratio) => ratio[0]);
  // One scale for all panels, limited because the intervals of few rounds are wide.
  const low = Math.max(Math.min(0.8, ...all), Math.min(0.8, ...ratios) / 4) * 0.92;
  const high = Math.min(Math.max(1.25, ...all), Math.max(1.25, ...ratios) * 4) * 1.08;
  const labelSide = -Math.log(low) > Math.log(high) ? "right" : "left";
  const rowName = (row) => `${row.lock} ${row.mark || " "}`;
  DATA.panels.forEach((each, index) => {
    const rows = each.rows.filter((row) => row.lock !== DATA.baseline && shown.has(row.lock));
    const traces = rows.map((row) => ratioBar(row.lock, rowName(row), row.ratio || [null, null, null]));
    const element = panel("ratios", index, DATA.panels.length, 84 + 24 * Math.max(rows.length, 3));
    draw(element, traces, {
      title: { text: each.label, x: 0, xanchor: "left", font: { size: 14 } },
      bargap: 0.3,
      barmode: "overlay",
      xaxis: {
        type: "log",
        range: [Math.log10(low), Math.log10(high)],
        ...logTicks(low, high, element.clientWidth - 130),
      },
      yaxis: {
        type: "category",
        autorange: "reversed",
        categoryorder: "array",
        categoryarray: rows.map(rowName),
        showgrid: false,
      },
      shapes: [{
        type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1,
        line: { color: css("--ink"), width: 1.5 },
      }],
      // On a logarithmic axis a note's position is a logarithm: 0 is the line at 1.
      annotations: rows.filter((row) => !row.ratio).map((row) => ({
        x: 0, y: rowName(row), xanchor: labelSide, xshift: labelSide === "right" ? -6 : 6,
        showarrow: false, text: row.missing ? missing(row) : "no ratio",
        font: { size: 12, color: css("--caution") },
      })),
    });
  });
}

function drawRuns() {
  DATA.panels.forEach((each, index) => {
    const rows = each.rows.filter((row) => shown.has(row.lock));
    const runs = each.runs.filter((run) => run.round >= 1 && run.value !== null && shown.has(run.lock));
    const values = runs.map((run) => run.value).filter((value) => value > 0);
    const low = values.length ? Math.min(...values) : 1;
    const high = values.length ? Math.max(...values) : 1;
    const log = high / low > 8;
    const position = (column, round) => column + (DATA.runs > 1 ? 0.6 * (round - 1) / (DATA.runs - 1) - 0.3 : 0);
    const traces = rows.map((row, column) => {
      const { colour, marker } = style(row.lock);
      const ofLock = runs.filter((run) => run.lock === row.lock);
      return {
        type: "scatter",
        mode: "markers",
        x: ofLock.map((run) => position(column, run.round)),
        y: ofLock.map((run) => run.value),
        marker: { color: colour, symbol: marker, size: 8 },
        text: ofLock.map((run) => `<b>${row.lock}</b>, round ${run.round}<br>${numberText(run.value)} ${DATA.unit}`
          + (run.others === null ? "" : `<br>other processes: ${(100 * run.others).toFixed(0)} % of the machine`)),
        hovertemplate: "%{text}<extra></extra>",
      };
    });
    draw(panel("runs", index, DATA.panels.length, 340), traces, {
      title: { text: each.label, x: 0, xanchor: "left", font: { size: 14 } },
      xaxis: {
        tickvals: rows.map((_, column) => column),
        ticktext: rows.map((row) => row.lock),
        tickangle: rows.length > 4 ? -45 : 0,
        range: [-0.6, rows.length - 0.4],
        showgrid: false,
      },
      yaxis: {
        title: { text: DATA.unit, font: { size: 13 } },
        ...(log
          ? { type: "log", range: [low / 1.3, high * 1.3].map(Math.log10), ...logTicks(low, high, 250) }
          : { type: "linear", range: [0, high * 1.08], ...linearTicks(high * 1.08) }),
      },
    });
  });
}

function redraw() {
  drawByThreads();
  drawRatios();
  drawRuns();
}

startPage(() => {
  drawChips();
  redraw();
});
document.getElementById("scale").onclick = () => {
  logarithmic = !logarithmic;
  drawByThreads();
};
