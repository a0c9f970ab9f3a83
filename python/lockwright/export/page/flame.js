// The contention flame graph: stacks of waiters; the width is the time waited.

const FLAME_ROW = 21;

// Returns the stacks of one mutex, or of all, as a tree: {name, value, mutex, children}.
function flameTree(chosenMutex) {
  const tree = { name: "all waiting", value: 0, mutex: null, children: new Map() };
  for (const [mutex, waited, frames] of DATA.stacks.stacks) {
    if (chosenMutex !== null && mutex !== chosenMutex) continue;
    tree.value += waited;
    let node = tree;
    const descend = (key, name, ofMutex) => {
      if (!node.children.has(key)) {
        node.children.set(key, { name, value: 0, mutex: ofMutex, children: new Map(), parent: node });
      }
      node = node.children.get(key);
      node.value += waited;
    };
    for (const frame of frames) descend(frame, DATA.stacks.frames[frame], null);
    descend(`mutex ${mutex}`, DATA.mutexes[mutex], mutex);
  }
  return tree;
}

// Returns the same hue for a function everywhere; mutexes have the colours of the other drawings.
function flameColour(node) {
  if (node.mutex !== null) return mutexColour(node.mutex);
  if (!node.parent) return css("--raised");
  let hash = 0;
  for (const letter of node.name) hash = (hash * 31 + letter.codePointAt(0)) % 997;
  const dark = root.classList.contains("dark");
  return `hsl(${18 + (hash % 38)} ${dark ? "55% 30%" : `${70 + (hash % 20)}% 76%`})`;
}

function startFlame() {
  if (!DATA.stacks.stacks.length) {
    showAbsence("flame", "No stack of a waiting thread was recorded.");
    return () => {};
  }
  const element = document.getElementById("flame");
  const search = document.getElementById("flame-search");
  const caption = document.getElementById("flame-status");
  let tree = flameTree(null), shownNode = tree;

  function show(node) {
    shownNode = node;
    render();
    element.querySelector("g[data-shown]")?.focus();
  }

  function box(node, x, wide, row, marks) {
    const text = `${node.name}\n${durationText(node.value)} waited, ${percentText(node.value / tree.value)} of all`;
    const kind = [node.mutex !== null && "mutex", !node.parent && "all", marks].filter(Boolean).join(" ");
    const group = svg("g", { tabindex: 0, role: "button", "aria-label": text.replace("\n", ": "), class: kind });
    if (node === shownNode) group.dataset.shown = "";
    group.append(svg("rect", {
      x, y: row * FLAME_ROW, width: Math.max(wide - 1, 0.5), height: FLAME_ROW - 1, rx: 2, fill: flameColour(node),
    }));
    const label = truncated(node.name, wide - 8, node.mutex === null ? 6.6 : 7.6);
    if (label) {
      const ink = node.mutex === null ? {} : { style: `fill: ${inkOn(mutexColour(node.mutex))}` };
      group.append(svg("text", { x: x + 4, y: row * FLAME_ROW + 14.5, ...ink }, label));
    }
    group.addEventListener("click", () => show(node));
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show(node);
    });
    group.addEventListener("mousemove", (event) => showHint(text, event));
    group.addEventListener("mouseleave", () => showHint(null));
    return group;
  }

  function render() {
    showHint(null);
    const width = element.clientWidth;
    const wanted = search.value.trim().toLowerCase();
    const image = svg("svg", { role: "group", "aria-label": "Contention flame graph" });
    let depth = 0;
    let found = 0;
    const add = (node, x, wide, row, within) => {
      if (wide < 1) return;
      depth = Math.max(depth, row);
      const hit = wanted !== "" && node.name.toLowerCase().includes(wanted);
      if (hit && !within) found += node.value;
      image.append(box(node, x, wide, row, wanted && (hit ? "found" : "faded")));
      let left = x;
      for (const child of [...node.children.values()].sort((a, b) => b.value - a.value)) {
        const part = (wide * child.value) / node.value;
        add(child, left, part, row + 1, within || hit);
        left += part;
      }
    };
    // The callers of the shown function stay, to return to them.
    const above = [];
    for (let node = shownNode.parent; node; node = node.parent) above.unshift(node);
    above.forEach((node, row) => image.append(box(node, 0, width, row, wanted && "faded")));
    add(shownNode, 0, width, above.length, false);
    const height = (depth + 1) * FLAME_ROW;
    image.setAttribute("viewBox", `0 0 ${width} ${height}`);
    image.setAttribute("height", height);
    element.replaceChildren(image);
    const left = DATA.stacks.left ? ` ${DATA.stacks.left.toLocaleString("en-US")} rarer stacks are left out.` : "";
    caption.textContent = (wanted ? `${percentText(found / shownNode.value)} of the time shown.` : `${durationText(shownNode.value)} waited.`) + left;
  }

  offerMutexes("flame", [...new Set(DATA.stacks.stacks.map(([mutex]) => mutex))].sort((a, b) => a - b), () => {
    tree = flameTree(chosen.flame);
    shownNode = tree;
    render();
  });
  search.oninput = render;
  document.getElementById("flame-reset").onclick = () => {
    search.value = "";
    shownNode = tree;
    render();
  };
  return render;
}
