"""The helpers that the tests share."""
