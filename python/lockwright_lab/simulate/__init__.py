"""What `lockwright simulate` prints of runs on a simulated machine."""
