"""Finds the lock under which a program runs best, and proves it, within a time budget."""
