// The locks that a page shows in its plots, and buttons in #chips to choose them. The page defines
// redraw(), which draws all its plots.
const shown = new Set(DATA.locks);
const visible = () => DATA.locks.filter((lock) => shown.has(lock));

// Returns the marker of a lock as a small picture, with plotly's symbol paths.
function symbol(lock) {
  const { colour, marker } = style(lock);
  const paths = {
    "circle": "M5,0A5,5 0 1,1 0,-5A5,5 0 0,1 5,0Z",
    "square": "M4.5,4.5H-4.5V-4.5H4.5Z",
    "diamond": "M6,0L0,6L-6,0L0,-6Z",
    "triangle-up": "M-6,4H6L0,-6Z",
    "triangle-down": "M-6,-4H6L0,6Z",
    "star": "M1.6,-2.1H6.3L2.6,.8L4,5.4L0,2.6L-4,5.4L-2.6,.8L-6.3,-2.1H-1.6L0,-6.6Z",
    "cross": "M6,2H2V6H-2V2H-6V-2H-2V-6H2V-2H6Z",
    "x": "M0,2.8L2.8,5.6L5.6,2.8L2.8,0L5.6,-2.8L2.8,-5.6L0,-2.8L-2.8,-5.6L-5.6,-2.8L-2.8,0L-5.6,2.8L-2.8,5.6Z",
    "pentagon": "M5.7,-1.9L3.5,4.9H-3.5L-5.7,-1.9L0,-6Z",
    "hexagram": "M-6,-3.5H-2L0,-7L2,-3.5H6L4,0L6,3.5H2L0,7L-2,3.5H-6L-4,0Z",
    "bowtie": "M6,5V-5L-6,5V-5Z",
    "hourglass": "M5,6H-5L5,-6H-5Z",
  };
  return `<svg viewBox="-7 -7 14 14" aria-hidden="true"><path fill="${colour}" d="${paths[marker]}"/></svg>`;
}

function drawChips() {
  const chips = document.getElementById("chips");
  chips.replaceChildren();
  for (const lock of DATA.locks) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Click to hide or show, double-click to show alone";
    button.setAttribute("aria-pressed", String(shown.has(lock)));
    button.innerHTML = symbol(lock);
    button.append(lock);
    button.onclick = (event) => {
      if (event.detail > 1) {
        const alone = shown.size === 1 && shown.has(lock);
        shown.clear();
        for (const each of alone ? DATA.locks : [lock]) shown.add(each);
      } else if (!shown.delete(lock)) {
        shown.add(lock);
      }
      for (const [index, chip] of [...chips.children].entries()) {
        chip.setAttribute("aria-pressed", String(shown.has(DATA.locks[index])));
      }
      redraw();
    };
    chips.append(button);
  }
  for (const [text, locks] of [["all", DATA.locks], ["none", []]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = text;
    button.title = `Show ${text} of the locks in the plots`;
    button.onclick = () => {
      shown.clear();
      for (const lock of locks) shown.add(lock);
      drawChips();
      redraw();
    };
    chips.append(button);
  }
}

// Returns a bar from 1 to the ratio of a lock, with its confidence interval.
function ratioBar(lock, name, [value, low, high], remark = "") {
  return {
    type: "bar",
    orientation: "h",
    y: [name],
    base: [1],
    x: [value === null ? null : value - 1],
    marker: { color: style(lock).colour, opacity: 0.85 },
    error_x: low === null ? undefined : {
      type: "data", symmetric: false, array: [high - value], arrayminus: [value - low],
      color: css("--ink"), thickness: 1.4, width: 4,
    },
    hovertemplate: `<b>${lock}</b>: ${numberText(value)}${low === null ? "" : ` (${numberText(low)} to ${numberText(high)})`}`
      + `${remark}<extra></extra>`,
  };
}
