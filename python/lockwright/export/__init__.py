"""Profiles as an HTML page and in the formats of other programs."""
