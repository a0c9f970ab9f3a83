"""Runs programs, and keeps what came of each run."""
