"""Energy of the processors and the memory, by RAPL (running average power limit)."""
