"""Runs programs, and records how each run ended."""
