function drawRatios(element) {
  const names = visible().filter((name) => name in DATA.ratios);
  element.style.height = `${90 + 26 * Math.max(names.length, 2)}px`;
  draw(element, names.map((name) => ratioBar(name, name, DATA.ratios[name])), {
    bargap: 0.35,
    margin: { l: 10, r: 24, t: 12, b: 46 },
    xaxis: { title: { text: DATA.ratioTitle, font: { size: 13 } } },
    yaxis: { type: "category", autorange: "reversed", showgrid: false },
    shapes: [{ type: "line", x0: 1, x1: 1, y0: 0, y1: 1, yref: "paper", line: { color: css("--ink"), width: 1 } }],
  });
}

function drawRates(element) {
  element.style.height = "440px";
  const series = visible().map((lock) => ({
    name: lock,
    values: DATA.rates[lock].map((rate) => rate && rate[0]),
    texts: DATA.rates[lock].map((rate, index) => (rate
      ? `${DATA.counts[index]} threads: ${rate.map(shortNumber).join(", ")}` : "")),
  }));
  drawLinePlot(element, series, {
    xTitle: "threads", yTitle: "sections per second, predicted", categories: DATA.counts, logarithmic: true,
  });
}

function redraw() {
  drawRatios(document.getElementById("ratios"));
  const rates = document.getElementById("rates");
  if (rates) drawRates(rates);
}

startPage(() => {
  drawChips();
  redraw();
});
