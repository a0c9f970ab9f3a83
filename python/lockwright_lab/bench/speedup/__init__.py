"""Gains by experiments on the running program against those of programs that were changed."""
