"""Plans, which assign locks to the mutexes of a program."""
