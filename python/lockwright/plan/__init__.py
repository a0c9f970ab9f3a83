"""A plan: which lock each mutex of a program gets."""
