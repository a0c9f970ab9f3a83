"""What is preloaded into a program: the locks, their libraries, and what they count."""
