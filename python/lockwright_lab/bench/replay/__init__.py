"""Recorded runs of a machine, replayed to searches for the best lock of each program."""
