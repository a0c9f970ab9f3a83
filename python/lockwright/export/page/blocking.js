// The blocking graph: from the places at which mutexes were held to those at which others waited.

const BLOCKING_PLACES = 10;
const BLOCKING_GAP = 24;
const BLOCKING_HEIGHT = 260;

// Pairs of places with the time waited, summed over what they have in common. Places beyond the
// first few count as one.
function blockingLinks(mutex) {
  const rows = DATA.blocks.filter(([place]) => mutex === null || place === mutex);
  const sides = [1, 2].map((side) => {
    const totals = new Map();
    for (const row of rows) totals.set(row[side], (totals.get(row[side]) ?? 0) + row[3]);
    const order = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a));
    const kept = new Set(order.slice(0, order.length > BLOCKING_PLACES ? BLOCKING_PLACES - 1 : BLOCKING_PLACES));
    return { kept, others: `${order.length - kept.size} other places` };
  });
  const named = (side, text) => (side.kept.has(text) ? text || "a place not known" : side.others);
  const links = new Map();
  for (const [place, holder, waiter, waited, times] of rows) {
    const [from, to] = [named(sides[0], holder), named(sides[1], waiter)];
    const key = JSON.stringify([from, to]);
    const link = links.get(key) ?? { from, to, place, waited: 0, times: 0 };
    if (link.place !== place) link.place = null;
    link.waited += waited;
    link.times += times;
    links.set(key, link);
  }
  return [...links.values()].sort((a, b) => b.waited - a.waited);
}

function startBlocking() {
  if (!DATA.blocks.length) {
    nothing("blocking", "The holders of the mutexes were not recorded.");
    return () => {};
  }
  const element = document.getElementById("blocking");
  const caption = document.getElementById("blocking-status");

  // Where the places of one side stand, one below the other. scale: pixels for a nanosecond.
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

  function redrawn() {
    say(null);
    const links = blockingLinks(chosen.blocking);
    const whole = links.reduce((sum, link) => sum + link.waited, 0);
    const scale = BLOCKING_HEIGHT / whole;
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
      const mutex = link.place === null ? "" : `\n${DATA.mutexes[link.place]}`;
      const text = `held at ${link.from}\nwaited for at ${link.to}${mutex}\n${time(link.waited)} waited, ${figure(link.times)} times`;
      const path = svg("path", {
        d: `M${bar} ${y}C${middle} ${y} ${middle} ${z} ${width - bar} ${z}`, fill: "none", "stroke-width": wide,
        stroke: link.place === null ? css("--soft") : mutexColour(link.place), tabindex: 0, role: "img",
        "aria-label": text.replaceAll("\n", ", "),
      });
      path.addEventListener("mousemove", (event) => say(text, event));
      path.addEventListener("mouseleave", () => say(null));
      image.append(path);
    }
    const room = middle - 8;
    for (const [bars, x, anchor] of [[left.bars, 0, "start"], [right.bars, width, "end"]]) {
      for (const [name, { y, height: high, total }] of bars) {
        image.append(svg("rect", { x: x ? width - bar : 0, y, width: bar, height: high, fill: css("--ink") }));
        const text = svg("text", { x, y: y - 5, "text-anchor": anchor }, cut(name, room));
        text.append(svg("title", {}, `${name}: ${time(total)}`));
        image.append(text);
      }
    }
    element.replaceChildren(image);
    caption.textContent = `${time(whole)} waited.`;
  }

  offerMutexes("blocking", [...new Set(DATA.blocks.map(([place]) => place))].sort((a, b) => a - b), redrawn);
  return redrawn;
}
