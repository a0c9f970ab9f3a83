"""Profiles as a page and in the formats of other programs."""
