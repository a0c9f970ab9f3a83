"""Claims of the papers on locks, and their test on this machine or a simulated one."""
