"""The runs of a study: their plan, order, machines and records."""
