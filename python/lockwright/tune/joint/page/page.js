function drawWorth(id, ratios, title) {
  const element = document.getElementById(id);
  if (!element) return;
  const names = visible().filter((name) => name in ratios);
  element.style.height = `${90 + 26 * Math.max(names.length, 2)}px`;
  draw(element, names.map((name) => ratioBar(name, name, ratios[name])), {
    bargap: 0.35,
    margin: { l: 10, r: 24, t: 12, b: 46 },
    xaxis: { title: { text: title, font: { size: 13 } } },
    yaxis: { type: "category", autorange: "reversed", showgrid: false },
    shapes: [{ type: "line", x0: 1, x1: 1, y0: 0, y1: 1, yref: "paper", line: { color: css("--ink"), width: 1 } }],
  });
}

function redraw() {
  drawWorth("alone", DATA.alone, DATA.aloneTitle);
  drawWorth("beside", DATA.beside, DATA.besideTitle);
}

startPage(() => {
  drawChips();
  redraw();
});
