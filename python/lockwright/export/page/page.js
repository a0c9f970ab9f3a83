// Distributions of a mutex, and what the drawings share: the choice of a mutex, hints, colours.

const mutexColour = (place) => COLOURS[place % COLOURS.length];
const AXIS_DECADES = ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"];
const BINS = 10;

// What can be read on a colour of COLOURS.
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  return 0.3 * r + 0.59 * g + 0.11 * b > 0.5 ? "#111" : "#fff";
}

// Says something beside the pointer; null takes it away.
const hint = document.createElement("div");
hint.className = "hint";
hint.hidden = true;
document.body.append(hint);
function say(text, event) {
  hint.hidden = text === null;
  if (text === null) return;
  hint.textContent = text;
  const { clientWidth: width, clientHeight: height } = hint;
  hint.style.left = `${Math.max(4, Math.min(event.clientX + 12, window.innerWidth - width - 8))}px`;
  hint.style.top = `${Math.max(4, Math.min(event.clientY + 14, window.innerHeight - height - 8))}px`;
}

// Fills the choice of a mutex with those that are in a drawing; it is null for all of them.
const chosen = {};
function offerMutexes(name, places, redrawn) {
  const select = document.querySelector(`select[data-choice="${name}"]`);
  chosen[name] = null;
  select.hidden = places.length < 2;
  select.append(new Option("All mutexes", ""));
  for (const place of places) select.append(new Option(DATA.mutexes[place], place));
  select.onchange = () => {
    chosen[name] = select.value === "" ? null : Number(select.value);
    redrawn();
  };
}

// A sentence in the place of a drawing, whose tools go with it.
function nothing(name, sentence) {
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

// As much of a text as there is room for, at about so many pixels a letter.
function cut(text, room, letter = 6.6) {
  const letters = Math.floor(room / letter);
  if (text.length <= letters) return text;
  return letters < 4 ? "" : `${text.slice(0, letters - 1)}…`;
}

const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;

function drawDistribution(element, title, found, colour) {
  const places = found.bins.map(([place]) => place);
  const low = Math.min(...places) - 1, high = Math.max(...places) + 2;
  const ticks = AXIS_DECADES.map((_, power) => power * BINS).filter((place) => place >= low && place <= high);
  const at = (ns) => BINS * Math.log10(Math.max(ns, 1));
  const marks = [["p50", found.p50], ["p99", found.p99]];
  draw(element, [{
    type: "bar",
    x: places.map((place) => place + 0.5),
    y: found.bins.map(([, share]) => share),
    width: 0.92,
    marker: { color: colour },
    text: found.bins.map(([place, share]) => `${time(10 ** (place / BINS))} to ${time(10 ** ((place + 1) / BINS))}: ${percent(share)}`),
    textposition: "none",
    hovertemplate: "%{text}<extra></extra>",
  }], {
    title: { text: title, x: 0, xanchor: "left", font: { size: 14 } },
    margin: { l: 10, r: 12, t: 48, b: 28 },
    xaxis: { range: [low, high], tickvals: ticks, ticktext: ticks.map((place) => AXIS_DECADES[place / BINS]), showgrid: false, fixedrange: true },
    yaxis: { tickformat: ".0%", nticks: 4, rangemode: "tozero", fixedrange: true },
    shapes: marks.map(([, ns]) => ({
      type: "line", x0: at(ns), x1: at(ns), yref: "paper", y0: 0, y1: 1, line: { color: css("--ink"), width: 1, dash: "dot" },
    })),
    annotations: marks.map(([name, ns], index) => ({
      x: at(ns), y: 1, yref: "paper", yanchor: "bottom", showarrow: false, text: name,
      xanchor: at(marks[1][1]) - at(marks[0][1]) > 4 ? "center" : index ? "left" : "right",
      font: { size: 11, color: css("--soft") },
    })),
  });
}

function drawArrivals(element, arrivals, colour) {
  const whole = arrivals.reduce((sum, each) => sum + each, 0);
  draw(element, [{
    type: "bar",
    x: arrivals.map((_, waiters) => waiters),
    y: arrivals.map((number) => number / whole),
    marker: { color: colour },
    text: arrivals.map((number, waiters) => `${waiters} waiting: ${percent(number / whole)} of arrivals`),
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
  const place = Number(panels.dataset.mutex);
  const shown = DATA.distributions[place];
  const kinds = [["waiting", "Waiting"], ["holding", "Holding"], ["handover", "Handover"]].filter(([kind]) => shown[kind]);
  const count = kinds.length + (shown.arrivals.length ? 1 : 0);
  if (!count) return;
  panels.id ||= `panels-${place}`;
  kinds.forEach(([kind, title], index) => {
    drawDistribution(panel(panels.id, index, count, 220), title, shown[kind], mutexColour(place));
  });
  if (shown.arrivals.length) {
    drawArrivals(panel(panels.id, count - 1, count, 220), shown.arrivals, mutexColour(place));
  }
}

// What is folded away is drawn once it is opened: until then it has no width.
function drawMutexes() {
  for (const panels of document.querySelectorAll("details[open] > .panels[data-mutex]")) drawMutex(panels);
}
for (const details of document.querySelectorAll("details.mutex")) {
  details.addEventListener("toggle", () => {
    if (details.open) drawMutex(details.querySelector(".panels"));
  });
}
// A link to a mutex opens what it leads to.
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
