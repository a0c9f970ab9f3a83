"""Files that put a lock under a program where no one types `lockwright run`."""
