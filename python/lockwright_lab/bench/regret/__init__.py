"""`lockwright bench regret`: how much slower a lock is than the best one, over a grid of loads."""
