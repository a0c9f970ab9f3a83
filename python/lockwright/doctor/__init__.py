"""The state of the machine, as far as it changes what a measurement of locks shows."""
