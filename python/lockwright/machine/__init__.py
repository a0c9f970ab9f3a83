"""What this machine is and does: processors, load, energy and other counters."""
