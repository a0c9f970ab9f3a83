// The colours of the SVG map follow the style sheet without a redraw.
startPage(() => {});
