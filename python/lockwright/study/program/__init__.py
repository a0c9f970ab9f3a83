"""A program of a study: what is known about it, and how a run of it is made and judged."""
