"""The search for the lock under which a program runs best, within a time budget."""
