"""Which mutexes cost a program time, where in its code, and which threads wait for which."""
