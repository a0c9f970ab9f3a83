// The timeline of each thread's waiting and holding.

const TIMELINE_AXIS = 22;
const TIMELINE_ROW = 20;

function startTimeline() {
  const { threads, places, left, threadsLeft } = DATA.timeline;
  if (!threads.length) {
    showAbsence("timeline", "The times at which threads waited and held were not recorded.");
    return () => {};
  }
  const element = document.getElementById("timeline");
  const canvas = document.createElement("canvas");
  element.append(canvas);
  const context = canvas.getContext("2d");
  const all = threads.flatMap(({ spans }) => spans);
  const least = all.reduce((low, span) => Math.min(low, span[2]), Infinity);
  const most = all.reduce((high, span) => Math.max(high, span[3]), -Infinity);
  const shortest = Math.max((most - least) / 1e6, 1);
  let from = least, to = Math.max(most, least + 1);
  let dragged = null;
  let margin = 0;

  const caption = document.getElementById("timeline-status");
  caption.textContent = [
    left ? `${left.toLocaleString("en-US")} shorter intervals are left out.` : "",
    threadsLeft ? `${threadsLeft.toLocaleString("en-US")} threads with fewer intervals are left out.` : "",
  ].join(" ").trim();
  caption.hidden = caption.textContent === "";

  const position = (ns) => margin + ((ns - from) / (to - from)) * (canvas.clientWidth - margin);
  const timeAt = (x) => from + ((x - margin) / (canvas.clientWidth - margin)) * (to - from);

  function showRange(begin, end) {
    const wide = Math.min(Math.max(end - begin, shortest), Math.max(most - least, 1));
    from = Math.min(Math.max(begin, least), Math.max(most - wide, least));
    to = from + wide;
    render();
  }
  const zoom = (by, around = (from + to) / 2) => showRange(around - (around - from) * by, around + (to - around) * by);

  function drawAxis(width, height) {
    const step = 10 ** Math.floor(Math.log10((to - from) / 3));
    const every = [1, 2, 5, 10].map((factor) => factor * step).find((multiple) => (to - from) / multiple <= (width - margin) / 80);
    context.textAlign = "center";
    for (let tick = Math.ceil(from / every) * every; tick <= to; tick += every) {
      const x = position(tick);
      context.fillStyle = css("--line");
      context.fillRect(x, TIMELINE_AXIS - 4, 1, height);
      context.fillStyle = css("--soft");
      if (x > margin + 16 && x < width - 20) context.fillText(tickText(tick, every), x, 12);
    }
  }
  // Returns a tick's text with as many digits as distinguish it from the next one.
  function tickText(ns, every) {
    const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([each]) => to >= each) ?? [1, "ns"];
    return `${(ns / size).toFixed(Math.max(0, Math.ceil(-Math.log10(every / size) - 1e-9)))} ${unit}`;
  }

  function render() {
    showHint(null);
    const width = element.clientWidth;
    const height = TIMELINE_AXIS + threads.length * TIMELINE_ROW;
    const pixelRatio = window.devicePixelRatio || 1;
    canvas.width = width * pixelRatio;
    canvas.height = height * pixelRatio;
    canvas.style.height = `${height}px`;
    context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const longest = Math.max(...threads.map(({ name }) => context.measureText(name).width));
    margin = Math.ceil(Math.min(longest, width * 0.22)) + 10;
    drawAxis(width, height);
    const waited = stripes();
    threads.forEach(({ name, spans }, row) => {
      const top = TIMELINE_AXIS + row * TIMELINE_ROW;
      context.fillStyle = css("--line");
      context.fillRect(margin, top + TIMELINE_ROW - 3, width - margin, 1);
      for (const [mutex, held, begin, end] of spans) {
        if (end < from || begin > to || (chosen.timeline !== null && mutex !== chosen.timeline)) continue;
        const x = Math.max(position(begin), margin);
        const wide = Math.max(Math.min(position(end), width) - x, 0.7);
        context.fillStyle = held ? mutexColour(mutex) : waited;
        context.fillRect(x, held ? top + 2 : top + 10, wide, held ? 15 : 7);
      }
      context.textAlign = "left";
      context.fillStyle = css("--ink");
      context.fillText(truncated(name, margin - 6, longest > margin ? 7 : 1), 0, top + 14);
    });
    if (dragged) {
      context.globalAlpha = 0.2;
      context.fillStyle = css("--accent");
      context.fillRect(Math.min(dragged.x, dragged.now), 0, Math.abs(dragged.now - dragged.x), height);
      context.globalAlpha = 1;
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
    return context.createPattern(tile, "repeat");
  }

  function spanAt(event) {
    const row = Math.floor((event.offsetY - TIMELINE_AXIS) / TIMELINE_ROW);
    if (row < 0 || row >= threads.length || event.offsetX < margin) return null;
    const slack = ((to - from) / canvas.clientWidth) * 2;
    const ns = timeAt(event.offsetX);
    const hits = threads[row].spans.filter(([mutex, , begin, end]) => begin - slack <= ns && end + slack >= ns
      && (chosen.timeline === null || mutex === chosen.timeline));
    // Holds overlap the spans within them: the shortest is chosen.
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
      render();
      return;
    }
    const found = spanAt(event);
    if (!found) {
      showHint(null);
      return;
    }
    const [mutex, held, begin, end, where] = found.hit;
    const site = places[where] ? `\nat ${places[where]}` : "";
    showHint(`${found.thread} ${held ? "held" : "waited for"} ${DATA.mutexes[mutex]}\n${durationText(end - begin)}, from ${durationText(begin)} on${site}`, event);
  });
  canvas.addEventListener("pointerleave", () => showHint(null));
  canvas.addEventListener("pointerup", () => {
    if (!dragged) return;
    const [left, right] = [dragged.x, dragged.now].sort((a, b) => a - b);
    dragged = null;
    if (right - left > 4) showRange(timeAt(left), timeAt(right));
    else render();
  });
  canvas.addEventListener("pointercancel", () => {
    dragged = null;
    render();
  });

  const zooms = { in: () => zoom(0.5), out: () => zoom(2), all: () => showRange(least, most) };
  for (const button of document.querySelectorAll("[data-zoom]")) button.onclick = zooms[button.dataset.zoom];
  const move = (by) => showRange(from + by * (to - from), to + by * (to - from));
  const keys = {
    "+": zooms.in, "=": zooms.in, "-": zooms.out, 0: zooms.all, ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  };
  element.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });

  offerMutexes("timeline", [...new Set(all.map(([mutex]) => mutex))].sort((a, b) => a - b), render);
  return render;
}
