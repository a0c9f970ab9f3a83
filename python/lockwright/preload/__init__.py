"""The libraries that are preloaded into a program: the locks, and what they count."""
