"""Files that put a lock under a program that is not started by `lockwright run`."""
