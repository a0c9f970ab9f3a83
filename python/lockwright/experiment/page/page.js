let logarithmic = null;

// Returns the text for rows or runs without a value.
function missing(kinds) {
  if (kinds.every((kind) => kind === "timeout")) return "timed out";
  return kinds.includes("timeout") ? "no value" : "failed";
}

function drawByThreads() {
  const section = document.getElementById("by-threads-section");
  section.hidden = DATA.panels.length < 2;
  if (section.hidden) return;
  const medians = DATA.panels.flatMap((panel) => panel.rows.map((row) => row.median))
    .filter((value) => value !== null && value > 0);
  const least = medians.length ? Math.min(...medians) : 1;
  const most = medians.length ? Math.max(...medians) : 1;
  // On a linear scale, locks that collapse would compress all others.
  if (logarithmic === null) logarithmic = most / least > 8;
  document.getElementById("scale").textContent = logarithmic ? "Linear scale" : "Logarithmic scale";

  const visible = DATA.locks.filter((lock) => shown.has(lock));
  const rowsOf = new Map(visible.map((lock) => [
    lock, DATA.panels.map((panel) => panel.rows.find((row) => row.lock === lock)),
  ]));
  // A lock without a value at some number of threads has a line in a strip on the worse side of the plot.
  const without = visible.filter((lock) => rowsOf.get(lock).some((row) => row.missing));
  const element = document.getElementById("by-threads");
  const top = 12, bottom = 46, line = 17;
  const strip = without.length ? without.length * line + 10 : 0;
  const height = 440 + strip;
  element.style.height = `${height}px`;
  const plotHeight = height - top - bottom;
  const share = strip / plotHeight;
  const gap = strip ? 10 / plotHeight : 0;
  const domain = DATA.lowerIsBetter ? [0, 1 - share - gap] : [share + gap, 1];
  const stripDomain = DATA.lowerIsBetter ? [1 - share, 1] : [0, share];
  const range = logarithmic
    ? [Math.log10(least / 1.3), Math.log10(most * 1.3)] : [0, most * 1.08];
  // Returns the position of a value as a share of the height.
  const position = (value) => {
    const along = ((logarithmic ? Math.log10(value) : value) - range[0]) / (range[1] - range[0]);
    return domain[0] + along * (domain[1] - domain[0]);
  };
  const stripPosition = (lock) => stripDomain[0]
    + ((without.length - without.indexOf(lock) - 0.5) / without.length) * share;

  const last = DATA.panels.length - 1;
  const traces = [];
  for (const lock of visible) {
    const { colour, marker, dash } = style(lock);
    const rows = rowsOf.get(lock);
    traces.push({
      type: "scatter",
      mode: "lines+markers",
      x: rows.map((_, index) => index),
      y: rows.map((row) => row.median),
      text: rows.map((row, index) => `${DATA.panels[index].label}<br>${numberText(row.median)} ${DATA.unit}`
        + (row.spread === null ? "" : `, rel. sd ${(100 * row.spread).toFixed(1)} %`)),
      line: { color: colour, width: lock === DATA.baseline ? 3 : 2, dash },
      marker: { color: colour, symbol: marker, size: 10 },
      hovertemplate: `<b>${lock}</b>, %{text}<extra></extra>`,
    });
    if (!without.includes(lock)) continue;
    const indices = rows.flatMap((row, index) => (row.missing ? [index] : []));
    traces.push({
      type: "scatter",
      mode: "markers",
      x: indices,
      y: indices.map(() => without.length - without.indexOf(lock) - 0.5),
      yaxis: "y2",
      text: indices.map((index) => `${DATA.panels[index].label}<br>${missing([rows[index].missing])}`),
      marker: { color: colour, symbol: marker, size: 10 },
      hovertemplate: `<b>${lock}</b>, %{text}<extra></extra>`,
    });
  }

  const ends = visible.filter((lock) => rowsOf.get(lock)[last].median > 0);
  const heights = ends.map((lock) => position(rowsOf.get(lock)[last].median));
  const right = last + 0.12 * last;
  const names = endLabels(ends, heights, plotHeight, last + 0.03 * last, right);
  draw(element, traces, {
    margin: { l: 12, r: labelWidth(visible), t: top, b: bottom },
    xaxis: {
      title: { text: DATA.axis, font: { size: 13 } },
      range: [-0.06 * last, right],
      tickvals: DATA.panels.map((_, index) => index),
      ticktext: DATA.panels.map((each) => String(each.threads)),
      anchor: strip && !DATA.lowerIsBetter ? "y2" : "y",
    },
    yaxis: {
      title: { text: `${DATA.quantity}${DATA.quantity === DATA.unit ? "" : ` (${DATA.unit})`}, ${DATA.lowerIsBetter ? "lower" : "higher"} is better`, font: { size: 13 } },
      domain,
      range,
      ...(logarithmic
        ? { type: "log", ...logTicks(least, most, plotHeight) }
        : { type: "linear", ...linearTicks(most * 1.08) }),
    },
    yaxis2: {
      visible: strip > 0,
      domain: strip ? stripDomain : [0, 0.01],
      range: [0, Math.max(without.length, 1)],
      tickvals: [without.length / 2],
      ticktext: [missing(without.flatMap((lock) => rowsOf.get(lock).map((row) => row.missing).filter(Boolean)))],
      tickfont: { size: 12, color: css("--caution") },
      showgrid: false,
      zeroline: false,
      automargin: true,
      fixedrange: true,
    },
    shapes: [
      ...(strip ? [{
        type: "rect", xref: "paper", x0: 0, x1: 1, yref: "paper", y0: stripDomain[0], y1: stripDomain[1],
        fillcolor: css("--caution"), opacity: 0.1, line: { width: 0 }, layer: "below",
      }] : []),
      ...names.shapes,
    ],
    annotations: [
      ...names.annotations,
      ...without.filter((lock) => !ends.includes(lock)).map((lock) => lineLabel(lock, stripPosition(lock))),
    ],
  });
}

function drawRatios() {
  const visible = DATA.panels.flatMap((each) => each.rows)
    .filter((row) => row.ratio && shown.has(row.lock)).map((row) => row.ratio);
  const all = visible.flat().filter((value) => value !== null);
  const ratios = visible.map((ratio) => ratio[0]);
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
        showarrow: false, text: row.missing ? missing([row.missing]) : "no ratio",
        font: { size: 12, color: css("--caution") },
      })),
    });
  });
}

function drawRuns() {
  DATA.panels.forEach((each, index) => {
    const rows = each.rows.filter((row) => shown.has(row.lock));
    const runs = each.runs.filter((run) => run.round >= 1 && shown.has(run.lock));
    const values = runs.filter((run) => run.value > 0).map((run) => run.value);
    const none = runs.filter((run) => run.value === null).map((run) => run.outcome);
    const low = values.length ? Math.min(...values) : 1;
    const high = values.length ? Math.max(...values) : 1;
    const log = high / low > 8;
    const spare = DATA.runs > 1 ? 0.6 / (DATA.runs - 1) : 0;
    const position = (column, round) => column + (DATA.runs > 1 ? (round - 1) * spare - 0.3 : 0);
    // Runs without a value are apart from the others, on the worse side, and not at zero.
    const reach = log ? (high / low) ** 0.15 * 1.3 : 0.12 * high;
    const above = log ? high * reach : high * 1.05 + reach;
    const below = log ? low / reach : -reach;
    const missingHeight = DATA.lowerIsBetter ? above : below;
    const ends = log ? [low / 1.3, high * 1.3] : [0, high * 1.08];
    if (none.length) {
      ends[DATA.lowerIsBetter ? 1 : 0] = log
        ? missingHeight * (DATA.lowerIsBetter ? 1.3 : 1 / 1.3)
        : missingHeight + (DATA.lowerIsBetter ? 0.5 : -0.5) * reach;
    }
    const traces = rows.map((row, column) => {
      const { colour, marker } = style(row.lock);
      const ofLock = runs.filter((run) => run.lock === row.lock);
      const finished = (run) => run.value !== null;
      return {
        type: "scatter",
        mode: "markers",
        x: ofLock.map((run) => position(column, run.round)),
        y: ofLock.map((run) => (finished(run) ? run.value : missingHeight)),
        marker: {
          color: ofLock.map((run) => (finished(run) ? colour : css("--caution"))),
          symbol: ofLock.map((run) => (finished(run) ? marker : "x-thin-open")),
          line: { width: ofLock.map((run) => (finished(run) ? 0 : 2)) },
          size: 8,
        },
        text: ofLock.map((run) => {
          const result = finished(run) ? `${numberText(run.value)} ${DATA.unit}` : `${run.outcome}: ${run.note}`;
          const others = run.others === null ? "" : `<br>other processes: ${(100 * run.others).toFixed(0)} % of the machine`;
          return `<b>${row.lock}</b>, round ${run.round}<br>${result}${others}`;
        }),
        hovertemplate: "%{text}<extra></extra>",
      };
    });
    const ticks = log ? logTicks(low, high, 250) : linearTicks(high * 1.08);
    const inside = ticks.tickvals.map((value) => value >= low / 1.3 || !log);
    const axis = {
      tickvals: ticks.tickvals.filter((_, index) => inside[index]),
      ticktext: ticks.ticktext.filter((_, index) => inside[index]),
    };
    if (none.length) {
      axis.tickvals.push(missingHeight);
      axis.ticktext.push(missing(none));
    }
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
        type: log ? "log" : "linear",
        range: log ? ends.map(Math.log10) : ends,
        ...axis,
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
