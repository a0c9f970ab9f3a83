"""Helpers for every package: errors, files, the terminal, numbers as text."""
