function drawGains(element) {
  element.style.height = "380px";
  const known = [{ shorter_percent: 0, gain: 1 }, ...DATA.rows.filter((row) => row.gain !== null)];
  const measured = {
    x: known.map((row) => row.shorter_percent),
    y: known.map((row) => row.gain),
    error_y: {
      type: "data",
      symmetric: false,
      array: known.map((row) => (row.gain_high ?? row.gain) - row.gain),
      arrayminus: known.map((row) => row.gain - (row.gain_low ?? row.gain)),
    },
    mode: "lines+markers",
    name: "measured",
    line: { color: css("--ink") },
  };
  const found = DATA.rows.filter((row) => row.simulated !== null);
  const simulated = {
    x: found.map((row) => row.shorter_percent),
    y: found.map((row) => row.simulated),
    mode: "lines+markers",
    name: "simulated",
    marker: { symbol: "circle-open" },
    line: { color: css("--ink"), dash: "dash" },
  };
  draw(element, [measured, simulated], {
    margin: { l: 60, r: 24, t: 12, b: 50 },
    xaxis: { title: { text: "sections shorter by, %", font: { size: 13 } }, range: [-3, 103] },
    yaxis: { title: { text: `times as fast: ${DATA.progress}`, font: { size: 13 } } },
    shapes: [{ type: "line", x0: 0, x1: 1, xref: "paper", y0: 1, y1: 1, line: { color: css("--line"), width: 2 } }],
  });
}

startPage(() => drawGains(document.getElementById("gains")));
