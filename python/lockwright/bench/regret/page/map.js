"use strict";

// The map is SVG in the page, so its colours follow the style sheet without a redraw.
startPage(() => {});
