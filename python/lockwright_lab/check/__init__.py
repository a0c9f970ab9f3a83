"""The model checker: its programs over a lock, their compilation and their results."""
