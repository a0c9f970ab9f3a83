"""Experiments on a running program: what shorter sections of a mutex would gain."""
