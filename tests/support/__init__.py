"""The helpers that the tests share: locations, and running a program under a lock."""
