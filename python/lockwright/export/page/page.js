// Distributions of a mutex, and shared functions of the drawings: the choice of a mutex, hints, colours.

const mutexColour = (mutex) => COLOURS[mutex % COLOURS.length];
const AXIS_DECADES = ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"];
const BINS = 10;

// Returns the text colour on a colour of COLOURS.
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16) / 255);
  return 0.3 * r + 0.59 * g + 0.11 * b > 0.5 ? "#111" : "#fff";
}

// Shows a text beside the pointer; null hides it.
const hint = document.createElement("div");
hint.className = "hint";
hint.hidden = true;
document.body.append(hint);
function showHint(text, event) {
  hint.hidden = text === null;
  if (text === null) return;
  hint.textContent = text;
  const { clientWidth: width, clientHeight: height } = hint;
  hint.style.left = `${Math.max(4, Math.min(event.clientX + 12, window.innerWidth - width - 8))}px`;
  hint.style.top = `${Math.max(4, Math.min(event.clientY + 14, window.innerHeight - height - 8))}px`;
}

// Fills the choice of a mutex with those of a drawing; null is all of them.
const chosen = {};
function offerMutexes(name, mutexes, render) {
  const select = document.querySelector(`select[data-choice="${name}"]`);
  chosen[name] = null;
  select.hidden = mutexes.length < 2;
  select.append(new Option("All mutexes", ""));
  for (const mutex of mutexes) select.append(new Option(DATA.mutexes[mutex], mutex));
  select.onchange = () => {
    chosen[name] = select.value === "" ? null : Number(select.value);
    render();
  };
}

// Replaces a drawing and its tools by a sentence.
function showAbsence(name, sentence) {
  const section = document.getElementById(`${name}-section`);
  section.querySelectorAll(".tools, .drawing, :scope > .quiet").forEach((each) => each.remove());
  const caption = document.createElement("p");
  caption.className = "absent";
  caption.textContent = sentence;
  section.append(caption);
}

function svg(name, attributes, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

// Returns a text cut to a width, at some pixels for a letter.
function truncated(text, room, letter = 6.6) {
  const letters = Math.floor(room / letter);
  if (text.length <= letters) return text;
  return letters < 4 ? "" : `${text.slice(0, letters - 1)}…`;
}

const percentText = (share) => `${Number((100 * share).toPrecision(3))} %`;

function drawDistribution(element, title, distribution, colour) {
  const bins = distribution.bins.map(([bin]) => bin);
  let low = Math.min(...bins) - 1, high = Math.max(...bins) + 2;
  const decades = AXIS_DECADES.map((_, power) => power * BINS);
  if (!decades.some((bin) => bin >= low && bin <= high)) {
    low = BINS * Math.floor(low / BINS);
    high = BINS * Math.ceil(high / BINS);
  }
  const ticks = decades.filter((bin) => bin >= low && bin <= high);
  const position = (ns) => BINS * Math.log10(Math.max(ns, 1));
  const marks = [["p50", distribution.p50], ["p99", distribution.p99]];
  draw(element, [{
    type: "bar",
    x: bins.map((bin) => bin + 0.5),
    y: distribution.bins.map(([, share]) => share),
    width: 0.92,
    marker: { color: colour },
    text: distribution.bins.map(([bin, share]) => `${durationText(10 ** (bin / BINS))} to ${durationText(10 ** ((bin + 1) / BINS))}: ${percentText(share)}`),
    textposition: "none",
    hovertemplate: "%{text}<extra></extra>",
  }], {
    title: { text: title, x: 0, xanchor: "left", font: { size: 14 } },
    margin: { l: 10, r: 12, t: 48, b: 28 },
    xaxis: { range: [low, high], tickvals: ticks, ticktext: ticks.map((bin) => AXIS_DECADES[bin / BINS]), showgrid: false, fixedrange: true },
    yaxis: { tickformat: ".0%", nticks: 4, rangemode: "tozero", fixedrange: true },
    shapes: marks.map(([, ns]) => ({
      type: "line", x0: position(ns), x1: position(ns), yref: "paper", y0: 0, y1: 1, line: { color: css("--ink"), width: 1, dash: "dot" },
    })),
    annotations: marks.map(([name, ns], index) => ({
      x: position(ns), y: 1, yref: "paper", yanchor: "bottom", showarrow: false, text: name,
      xanchor: position(marks[1][1]) - position(marks[0][1]) > 4 ? "center" : index ? "left" : "right",
      font: { size: 11, color: css("--soft") },
    })),
  });
}

function drawArrivals(element, arrivals, colour) {
  const total = arrivals.reduce((sum, number) => sum + number, 0);
  draw(element, [{
    type: "bar",
    x: arrivals.map((_, waiters) => waiters),
    y: arrivals.map((number) => number / total),
    marker: { color: colour },
    text: arrivals.map((number, waiters) => `${waiters} waiting: ${percentText(number / total)} of arrivals`),
    textposition: "none",
    hovertemplate: "%{text}<extra></extra>",
  }], {
    title: { text: "Others waiting on arrival", x: 0, xanchor: "left", font: { size: 14 } },
    margin: { l: 10, r: 12, t: 48, b: 28 },
    xaxis: { dtick: Math.max(1, Math.ceil(arrivals.length / 8)), range: [-0.6, Math.max(arrivals.length, 2) - 0.4], showgrid: false, fixedrange: true },
    yaxis: { tickformat: ".0%", nticks: 4, rangemode: "tozero", fixedrange: true },
  });
}

function drawMutex(panels) {
  const mutex = Number(panels.dataset.mutex);
  const shown = DATA.distributions[mutex];
  const kinds = [["waiting", "Waiting"], ["holding", "Holding"], ["handover", "Handover"]].filter(([kind]) => shown[kind]);
  const count = kinds.length + (shown.arrivals.length ? 1 : 0);
  if (!count) return;
  panels.id ||= `panels-${mutex}`;
  kinds.forEach(([kind, title], index) => {
    drawDistribution(panel(panels.id, index, count, 220), title, shown[kind], mutexColour(mutex));
  });
  if (shown.arrivals.length) {
    drawArrivals(panel(panels.id, count - 1, count, 220), shown.arrivals, mutexColour(mutex));
  }
}

// Draws the open sections only: a closed one has no width.
function drawMutexes() {
  for (const panels of document.querySelectorAll("details[open] > .panels[data-mutex]")) drawMutex(panels);
}
for (const details of document.querySelectorAll("details.mutex")) {
  details.addEventListener("toggle", () => {
    if (details.open) drawMutex(details.querySelector(".panels"));
  });
}
// Opens the section that a link names.
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.matches("details")) target.open = true;
}
window.addEventListener("hashchange", openTarget);
openTarget();

const drawings = [startFlame(), startBlocking(), startTimeline(), drawMutexes];
const redraw = () => drawings.forEach((each) => each());
startPage(redraw);
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  drawings.slice(0, 3).forEach((each) => each());
});
