"""The libraries to preload into a program: the locks, and their counters."""
