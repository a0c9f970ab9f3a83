// Names of mutexes can be the places that take them.
const shortName = (name) => (name.length > 28 ? `${name.slice(0, 27)}…` : name);

function curves(lock) {
  const { colour, marker } = style(lock);
  const rows = DATA.rows.filter((row) => row.mutex === lock);
  const known = [{ shorter_percent: 0, gain: 1 }, ...rows.filter((row) => row.gain !== null)];
  const found = rows.filter((row) => row.simulated !== null);
  const line = (points, value, name, dash) => ({
    x: points.map((row) => row.shorter_percent),
    y: points.map(value),
    mode: "lines+markers",
    name,
    line: { color: colour, width: 2, dash },
    marker: { color: colour, symbol: dash === "solid" ? marker : `${marker}-open`, size: 9 },
    hovertemplate: `<b>${lock}</b> %{x} % shorter: %{y:.3g}<extra></extra>`,
  });
  const measured = {
    ...line(known, (row) => row.gain, shortName(lock), "solid"),
    error_y: {
      type: "data",
      symmetric: false,
      array: known.map((row) => (row.gain_high ?? row.gain) - row.gain),
      arrayminus: known.map((row) => row.gain - (row.gain_low ?? row.gain)),
    },
  };
  const simulated = line(found, (row) => row.simulated, `${shortName(lock)}, simulated`, "dash");
  return found.length ? [measured, simulated] : [measured];
}

const LEGEND = { showlegend: true, legend: { orientation: "h", y: -0.2 } };

function drawGains(element) {
  element.style.height = "420px";
  draw(element, DATA.locks.flatMap(curves), {
    ...LEGEND,
    margin: { l: 60, r: 24, t: 12, b: 50 },
    xaxis: { title: { text: "sections shorter by, %", font: { size: 13 } }, range: [-3, 103] },
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
