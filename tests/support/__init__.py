"""What the tests share: where things are, and how a program is run under a lock."""
