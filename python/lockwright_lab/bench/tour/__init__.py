"""A tour: the measurements of the papers in some minutes, with a report."""
