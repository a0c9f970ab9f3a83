"""Programs and libraries as files: headers, symbols, and the lines of their source."""
