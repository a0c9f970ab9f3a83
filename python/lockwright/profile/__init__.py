"""Which mutex costs a program time, where in its code, and who waits for whom."""
