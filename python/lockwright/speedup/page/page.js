// Names of locks can be the places that take them.
const shortName = (name) => (name.length > 28 ? `${name.slice(0, 27)}…` : name);

// Where the gains of changes of no section are drawn, those of several locks beside each other.
const OTHERS = [
  ...new Set(DATA.rows.filter((row) => row.shorter_percent === null && row.threads === null).map((row) => row.change)),
];
const placeOf = (change) => 116 + 16 * OTHERS.indexOf(change);

function curves(lock) {
  const { colour, marker } = style(lock);
  const rows = DATA.rows.filter((row) => row.mutex === lock);
  const gains = rows.filter((row) => row.gain !== null);
  const known = [{ shorter_percent: 0, gain: 1 }, ...gains.filter((row) => row.shorter_percent !== null)];
  const beside = 3 * ((DATA.locks.indexOf(lock) % 3) - 1);
  const apart = gains
    .filter((row) => row.shorter_percent === null && row.threads === null)
    .map((row) => ({ ...row, shorter_percent: placeOf(row.change) + beside }));
  const found = rows.filter((row) => row.simulated !== null);
  const line = (points, value, name, dash) => ({
    x: points.map((row) => row.shorter_percent),
    y: points.map(value),
    mode: "lines+markers",
    name,
    line: { color: colour, width: 2, dash },
    marker: { color: colour, symbol: dash === "solid" ? marker : `${marker}-open`, size: 9 },
    hovertemplate: `<b>${lock}</b> %{text}: %{y:.3g}<extra></extra>`,
    text: points.map((row) => row.change),
  });
  const measured = (points, dash) => ({
    ...line(points, (row) => row.gain, shortName(lock), dash),
    error_y: {
      type: "data",
      symmetric: false,
      array: points.map((row) => (row.gain_high ?? row.gain) - row.gain),
      arrayminus: points.map((row) => row.gain - (row.gain_low ?? row.gain)),
    },
  });
  const traces = known.length > 1 ? [measured(known, "solid")] : [];
  if (apart.length) traces.push({ ...measured(apart, "dot"), mode: "markers", showlegend: !traces.length });
  if (found.length) traces.push(line(found, (row) => row.simulated, `${shortName(lock)}, simulated`, "dash"));
  return traces;
}

const LEGEND = { showlegend: true, legend: { orientation: "h", y: -0.2 } };

function drawGains(element) {
  element.style.height = "420px";
  draw(element, DATA.locks.flatMap(curves), {
    ...LEGEND,
    margin: { l: 60, r: 24, t: 12, b: 50 },
    xaxis: {
      title: { text: "sections shorter by, %", font: { size: 13 } },
      range: [-3, 108 + 16 * OTHERS.length],
      tickvals: [0, 25, 50, 75, 100, ...OTHERS.map(placeOf)],
      ticktext: ["0", "25", "50", "75", "100", ...OTHERS.map((change) => change.replace(" for it", "").replace(" ", "<br>"))],
    },
    yaxis: { title: { text: "times as fast", font: { size: 13 } } },
    shapes: [{ type: "line", x0: 0, x1: 1, xref: "paper", y0: 1, y1: 1, line: { color: css("--line"), width: 2 } }],
  });
}

function drawAccounts(element) {
  element.style.height = "420px";
  const bars = (field, name, colour) => ({
    type: "bar",
    orientation: "h",
    x: DATA.accounts.map((of) => 100 * of[field]),
    y: DATA.accounts.map((_, index) => index),
    text: DATA.accounts.map((of) => of.mutex),
    textposition: "none",
    name,
    marker: { color: colour },
    hovertemplate: `<b>%{text}</b> ${name} %{x:.3g} %<extra></extra>`,
  });
  draw(element, [bars("held", "held", COLOURS[0]), bars("waited", "waited for", COLOURS[1])], {
    ...LEGEND,
    barmode: "group",
    bargap: 0.4,
    margin: { l: 10, r: 24, t: 12, b: 50 },
    xaxis: { title: { text: "% of the time", font: { size: 13 } }, rangemode: "tozero" },
    yaxis: {
      autorange: "reversed",
      showgrid: false,
      tickvals: DATA.accounts.map((_, index) => index),
      ticktext: DATA.locks.map(shortName),
    },
  });
}

startPage(() => {
  drawGains(document.getElementById("gains"));
  drawAccounts(document.getElementById("accounts"));
});
