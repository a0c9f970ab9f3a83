"""The profile of a program's mutexes: their cost, call sites and blocking threads."""
