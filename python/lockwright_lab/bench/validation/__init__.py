"""The validation of the simulator on this machine: real and simulated ranks of the locks."""
