"""The runs of a study: what is planned, in which order it is run, on which machines, and what is
kept."""
