// The blocking graph: from the sites at which mutexes were held to those at which others waited.

const BLOCKING_SITES = 10;
const BLOCKING_GAP = 24;
const BLOCKING_HEIGHT = 260;

// Returns pairs of sites with the sum of the times waited. Sites beyond the first few are combined.
function blockingLinks(chosenMutex) {
  const rows = DATA.blocks.filter(([mutex]) => chosenMutex === null || mutex === chosenMutex);
  const sides = [1, 2].map((side) => {
    const totals = new Map();
    for (const row of rows) totals.set(row[side], (totals.get(row[side]) ?? 0) + row[3]);
    const order = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a));
    const first = new Set(order.slice(0, order.length > BLOCKING_SITES ? BLOCKING_SITES - 1 : BLOCKING_SITES));
    return { first, others: `${order.length - first.size} other sites` };
  });
  const siteName = (side, text) => (side.first.has(text) ? text || "unknown site" : side.others);
  const links = new Map();
  for (const [mutex, holder, waiter, waited, times] of rows) {
    const [from, to] = [siteName(sides[0], holder), siteName(sides[1], waiter)];
    const key = JSON.stringify([from, to]);
    const link = links.get(key) ?? { from, to, mutex, waited: 0, times: 0 };
    if (link.mutex !== mutex) link.mutex = null;
    link.waited += waited;
    link.times += times;
    links.set(key, link);
  }
  return [...links.values()].sort((a, b) => b.waited - a.waited);
}

function startBlocking() {
  if (!DATA.blocks.length) {
    showAbsence("blocking", "The holders of the mutexes were not recorded.");
    return () => {};
  }
  const element = document.getElementById("blocking");
  const caption = document.getElementById("blocking-status");

  // Returns the bars of one side, one below the other. scale: pixels for a nanosecond.
  function stacked(links, side, scale) {
    const totals = new Map();
    for (const link of links) totals.set(link[side], (totals.get(link[side]) ?? 0) + link.waited);
    let y = BLOCKING_GAP - 4;
    const bars = new Map();
    for (const [name, total] of [...totals].sort((a, b) => b[1] - a[1])) {
      const height = Math.max(3, total * scale);
      bars.set(name, { y, height, total, used: 0 });
      y += height + BLOCKING_GAP;
    }
    return { bars, height: y };
  }

  function render() {
    showHint(null);
    const links = blockingLinks(chosen.blocking);
    const total = links.reduce((sum, link) => sum + link.waited, 0);
    const scale = BLOCKING_HEIGHT / total;
    const [left, right] = ["from", "to"].map((side) => stacked(links, side, scale));
    const width = element.clientWidth;
    const height = Math.max(left.height, right.height);
    const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "group", "aria-label": "Blocking graph" });
    const bar = 10, middle = width / 2;
    for (const link of links) {
      const [from, to] = [left.bars.get(link.from), right.bars.get(link.to)];
      const wide = Math.max(1, link.waited * scale);
      const [y, z] = [from.y + from.used + wide / 2, to.y + to.used + wide / 2];
      from.used += link.waited * scale;
      to.used += link.waited * scale;
      const mutex = link.mutex === null ? "" : `\n${DATA.mutexes[link.mutex]}`;
      const text = `held at ${link.from}\nwaited for at ${link.to}${mutex}\n${durationText(link.waited)} waited, ${numberText(link.times)} times`;
      const path = svg("path", {
        d: `M${bar} ${y}C${middle} ${y} ${middle} ${z} ${width - bar} ${z}`, fill: "none", "stroke-width": wide,
        stroke: link.mutex === null ? css("--soft") : mutexColour(link.mutex), tabindex: 0, role: "img",
        "aria-label": text.replaceAll("\n", ", "),
      });
      path.addEventListener("mousemove", (event) => showHint(text, event));
      path.addEventListener("mouseleave", () => showHint(null));
      image.append(path);
    }
    for (const [bars, x, anchor] of [[left.bars, 0, "start"], [right.bars, width, "end"]]) {
      for (const [name, { y, height: high, total: waited }] of bars) {
        image.append(svg("rect", { x: x ? width - bar : 0, y, width: bar, height: high, fill: css("--ink") }));
        const text = svg("text", { x, y: y - 5, "text-anchor": anchor }, truncated(name, middle - 8));
        text.append(svg("title", {}, `${name}: ${durationText(waited)}`));
        image.append(text);
      }
    }
    element.replaceChildren(image);
    caption.textContent = `${durationText(total)} waited.`;
  }

  offerMutexes("blocking", [...new Set(DATA.blocks.map(([mutex]) => mutex))].sort((a, b) => a - b), render);
  return render;
}
