"""Predictions from a profile: other machines, threads and locks, and changes of the program."""
