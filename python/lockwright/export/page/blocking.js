// The blocking graph: from the sites at which mutexes were held to those at which others waited.

const BLOCKING_SITES = 10;

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

  function render() {
    const links = blockingLinks(chosen.blocking);
    const sides = ["from", "to"].map((side) => [...new Set(links.map((link) => link[side]))]);
    element.style.height = `${120 + 34 * Math.max(...sides.map((names) => names.length))}px`;
    draw(element, [{
      type: "sankey",
      node: {
        label: sides.flat().map((name) => truncated(name, element.clientWidth / 2 - 40, 7.4)),
        customdata: sides.flat().map((name, index) => `${name}: ${durationText(links
          .filter((link) => link[index < sides[0].length ? "from" : "to"] === name).reduce((sum, link) => sum + link.waited, 0))}`),
        hovertemplate: "%{customdata}<extra></extra>", color: css("--ink"), thickness: 10, pad: 24, line: { width: 0 },
      },
      link: {
        source: links.map((link) => sides[0].indexOf(link.from)),
        target: links.map((link) => sides[0].length + sides[1].indexOf(link.to)),
        value: links.map((link) => link.waited),
        color: links.map((link) => `${link.mutex === null ? css("--soft") : mutexColour(link.mutex)}90`),
        customdata: links.map((link) => `held at ${link.from}<br>waited for at ${link.to}`
          + `${link.mutex === null ? "" : `<br>${DATA.mutexes[link.mutex]}`}<br>${durationText(link.waited)} waited, ${numberText(link.times)} times`),
        hovertemplate: "%{customdata}<extra></extra>",
      },
    }], { margin: { l: 4, r: 4, t: 8, b: 8 } });
    caption.textContent = `${durationText(links.reduce((sum, link) => sum + link.waited, 0))} waited.`;
  }

  offerMutexes("blocking", [...new Set(DATA.blocks.map(([mutex]) => mutex))].sort((a, b) => a - b), render);
  return render;
}
