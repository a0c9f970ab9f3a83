"""Writers of the formats of other programs."""
