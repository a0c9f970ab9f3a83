"""Helpers for every package: errors, files, the terminal, formatted numbers."""
