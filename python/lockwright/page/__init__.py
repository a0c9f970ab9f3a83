"""What reports have in common: HTML files that need nothing else, not even a network."""
