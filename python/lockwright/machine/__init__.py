"""The state of this machine: processors, load, energy and other counters."""
