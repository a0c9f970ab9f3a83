"""Studies: which lock suits which application, over many applications, locks and thread counts."""
