"""Measures this machine: the durations that set parameters of locks, and its description for the
simulator."""
