"""A program of a study: its entry, its inputs, and its runs with their checks."""
