"""Samples of processes from outside, from the kernel's data on their threads."""
