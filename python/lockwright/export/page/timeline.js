// The timeline: for each thread, when it waited for a mutex and when it held one.

const TIMELINE_AXIS = 22;
const TIMELINE_ROW = 20;

function startTimeline() {
  const { threads, places, left, threadsLeft } = DATA.timeline;
  if (!threads.length) {
    nothing("timeline", "When each thread waited and held was not recorded.");
    return () => {};
  }
  const element = document.getElementById("timeline");
  const canvas = document.createElement("canvas");
  element.append(canvas);
  const pen = canvas.getContext("2d");
  const all = threads.flatMap(({ moments }) => moments);
  const least = all.reduce((low, moment) => Math.min(low, moment[2]), Infinity);
  const most = all.reduce((high, moment) => Math.max(high, moment[3]), -Infinity);
  const shortest = Math.max((most - least) / 1e6, 1);
  let from = least, to = Math.max(most, least + 1);
  let dragged = null;
  let margin = 0;

  const caption = document.getElementById("timeline-status");
  caption.textContent = [
    left ? `${left.toLocaleString("en-US")} shorter moments are left out.` : "",
    threadsLeft ? `${threadsLeft.toLocaleString("en-US")} threads with fewer moments are left out.` : "",
  ].join(" ").trim();
  caption.hidden = caption.textContent === "";

  const place = (ns) => margin + ((ns - from) / (to - from)) * (canvas.clientWidth - margin);
  const moment = (x) => from + ((x - margin) / (canvas.clientWidth - margin)) * (to - from);

  function look(begin, end) {
    const wide = Math.min(Math.max(end - begin, shortest), Math.max(most - least, 1));
    from = Math.min(Math.max(begin, least), Math.max(most - wide, least));
    to = from + wide;
    redrawn();
  }
  const zoom = (by, around = (from + to) / 2) => look(around - (around - from) * by, around + (to - around) * by);

  function drawAxis(width, height) {
    const step = 10 ** Math.floor(Math.log10((to - from) / 3));
    const every = [1, 2, 5, 10].map((each) => each * step).find((each) => (to - from) / each <= (width - margin) / 80);
    pen.textAlign = "center";
    for (let tick = Math.ceil(from / every) * every; tick <= to; tick += every) {
      const x = place(tick);
      pen.fillStyle = css("--line");
      pen.fillRect(x, TIMELINE_AXIS - 4, 1, height);
      pen.fillStyle = css("--soft");
      if (x > margin + 16 && x < width - 20) pen.fillText(tickSaid(tick, every), x, 12);
    }
  }
  // As many digits as tell a tick from the next one.
  function tickSaid(ns, every) {
    const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([each]) => to >= each) ?? [1, "ns"];
    return `${(ns / size).toFixed(Math.max(0, Math.ceil(-Math.log10(every / size) - 1e-9)))} ${unit}`;
  }

  function redrawn() {
    say(null);
    const width = element.clientWidth;
    const height = TIMELINE_AXIS + threads.length * TIMELINE_ROW;
    const fine = window.devicePixelRatio || 1;
    canvas.width = width * fine;
    canvas.height = height * fine;
    canvas.style.height = `${height}px`;
    pen.setTransform(fine, 0, 0, fine, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    const longest = Math.max(...threads.map(({ name }) => pen.measureText(name).width));
    margin = Math.ceil(Math.min(longest, width * 0.22)) + 10;
    drawAxis(width, height);
    const waited = stripes();
    threads.forEach(({ name, moments }, row) => {
      const top = TIMELINE_AXIS + row * TIMELINE_ROW;
      pen.fillStyle = css("--line");
      pen.fillRect(margin, top + TIMELINE_ROW - 3, width - margin, 1);
      for (const [mutex, held, begin, end] of moments) {
        if (end < from || begin > to || (chosen.timeline !== null && mutex !== chosen.timeline)) continue;
        const x = Math.max(place(begin), margin);
        const wide = Math.max(Math.min(place(end), width) - x, 0.7);
        pen.fillStyle = held ? mutexColour(mutex) : waited;
        pen.fillRect(x, held ? top + 2 : top + 10, wide, held ? 15 : 7);
      }
      pen.textAlign = "left";
      pen.fillStyle = css("--ink");
      pen.fillText(cut(name, margin - 6, longest > margin ? 7 : 1), 0, top + 14);
    });
    if (dragged) {
      pen.globalAlpha = 0.2;
      pen.fillStyle = css("--accent");
      pen.fillRect(Math.min(dragged.x, dragged.now), 0, Math.abs(dragged.now - dragged.x), height);
      pen.globalAlpha = 1;
    }
  }

  function stripes() {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const brush = tile.getContext("2d");
    brush.fillStyle = css("--soft");
    brush.fillRect(0, 0, 3, 6);
    brush.globalAlpha = 0.4;
    brush.fillRect(3, 0, 3, 6);
    return pen.createPattern(tile, "repeat");
  }

  function under(event) {
    const row = Math.floor((event.offsetY - TIMELINE_AXIS) / TIMELINE_ROW);
    if (row < 0 || row >= threads.length || event.offsetX < margin) return null;
    const slack = ((to - from) / canvas.clientWidth) * 2;
    const at = moment(event.offsetX);
    const hits = threads[row].moments.filter(([mutex, , begin, end]) => begin - slack <= at && end + slack >= at
      && (chosen.timeline === null || mutex === chosen.timeline));
    // A hold covers what it contains: the shortest is the one that is pointed at.
    const [hit] = hits.sort((a, b) => (a[3] - a[2]) - (b[3] - b[2]));
    return hit ? { thread: threads[row].name, hit } : null;
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.offsetX < margin || event.button !== 0) return;
    dragged = { x: event.offsetX, now: event.offsetX };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged) {
      dragged.now = Math.max(event.offsetX, margin);
      redrawn();
      return;
    }
    const found = under(event);
    if (!found) {
      say(null);
      return;
    }
    const [mutex, held, begin, end, where] = found.hit;
    const site = places[where] ? `\nat ${places[where]}` : "";
    say(`${found.thread} ${held ? "held" : "waited for"} ${DATA.mutexes[mutex]}\n${time(end - begin)}, from ${time(begin)} on${site}`, event);
  });
  canvas.addEventListener("pointerleave", () => say(null));
  canvas.addEventListener("pointerup", () => {
    if (!dragged) return;
    const [a, b] = [dragged.x, dragged.now].sort((one, other) => one - other);
    dragged = null;
    if (b - a > 4) look(moment(a), moment(b));
    else redrawn();
  });
  canvas.addEventListener("pointercancel", () => {
    dragged = null;
    redrawn();
  });

  const acts = { in: () => zoom(0.5), out: () => zoom(2), all: () => look(least, most) };
  for (const button of document.querySelectorAll("[data-zoom]")) button.onclick = acts[button.dataset.zoom];
  const move = (by) => look(from + by * (to - from), to + by * (to - from));
  const keys = {
    "+": acts.in, "=": acts.in, "-": acts.out, 0: acts.all, ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  };
  element.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });

  offerMutexes("timeline", [...new Set(all.map(([mutex]) => mutex))].sort((a, b) => a - b), redrawn);
  return redrawn;
}
