// One page is shown at a time, the one after # in the address. Its plots are drawn when it is shown.

function heatColour(share) {
  const part = (name) => {
    const hex = css(name).replace("#", "");
    return [0, 2, 4].map((index) => parseInt(hex.slice(index, index + 2), 16));
  };
  const [from, to] = [part("--paper"), part("--worst")];
  return `rgb(${from.map((each, index) => Math.round(each + share * (to[index] - each))).join(",")})`;
}

// Returns a trace with the colours of the theme, and of its lock.
function coloured(trace) {
  if (trace.type === "heatmap") {
    return { ...trace, colorscale: [0, 1].map((share) => [share, heatColour(0.9 * share)]) };
  }
  if (!DATA.locks.includes(trace.name)) return trace;
  const { colour, dash, marker } = style(trace.name);
  const width = trace.name === DATA.baseline ? 3 : 1.8;
  return { ...trace, line: { ...trace.line, color: colour, dash, width }, marker: { color: colour, symbol: marker, size: 8 } };
}

// A plot can be saved, for a paper.
const saving = (name) => ({
  displayModeBar: true, displaylogo: false, modeBarButtons: [["toImage"]], toImageButtonOptions: { format: "svg", filename: name },
});

function drawFigure(element) {
  const name = element.dataset.figure;
  const { data, layout } = DATA.figures[name];
  const isMap = data[0]?.type === "heatmap";
  element.style.height = `${layout.height}px`;
  draw(element, data.map(coloured), {
    ...layout,
    ...(layout.width ? { width: Math.min(element.clientWidth, layout.width) } : {}),
    // Grey: a cell without a value.
    ...(isMap ? { plot_bgcolor: css("--line") } : {}),
  }, saving(name));
  // Of many lines, highlights the one under the pointer.
  element.removeAllListeners?.("plotly_hover");
  element.removeAllListeners?.("plotly_unhover");
  if (!data.some((trace) => trace.mode?.startsWith("lines"))) return;
  element.on("plotly_hover", ({ points }) => Plotly.restyle(element, {
    opacity: data.map((_, index) => (index === points[0].curveNumber ? 1 : 0.15)),
  }));
  element.on("plotly_unhover", () => Plotly.restyle(element, { opacity: 1 }));
}

const pages = [...document.querySelectorAll("section.page")];
let current = null;

function drawPage() {
  current.querySelectorAll(".plot").forEach(drawFigure);
}

function show() {
  const wanted = decodeURIComponent(window.location.hash.slice(1)) || "overview";
  const target = document.getElementById(wanted);
  const page = target?.closest("section.page") ?? pages[0];
  if (page !== current) {
    current?.querySelectorAll(".js-plotly-plot").forEach((element) => Plotly.purge(element));
    current = page;
    for (const each of pages) each.hidden = each !== page;
    const group = { program: "programs", lock: "locks" }[page.id.split("/")[0]] ?? page.id;
    for (const link of document.querySelectorAll("#pages a")) {
      const its = decodeURIComponent(link.hash.slice(1));
      if (its === group) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    drawPage();
    window.scrollTo(0, 0);
  }
  if (target && target !== page) target.scrollIntoView();
}

startPage(() => {
  if (current) drawPage();
  else show();
});
window.addEventListener("hashchange", show);
