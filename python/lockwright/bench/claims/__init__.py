"""Claims of the papers on locks, each a row of a table, and whether they hold on this machine."""
