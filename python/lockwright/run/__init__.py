"""Runs programs, and records the end of each run."""
