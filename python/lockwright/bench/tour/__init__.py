"""A tour of what the papers measure, in some minutes, with a report."""
