"""The report of a study: pages for a browser, and figures for a paper."""
