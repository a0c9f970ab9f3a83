"use strict";

// The map is part of the page: colours follow the style sheet.
startPage(() => {});
