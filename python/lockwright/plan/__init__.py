"""A plan: which lock each mutex of a program is to have."""
