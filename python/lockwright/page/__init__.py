"""The common parts of reports: HTML files that need no other file and no network."""
