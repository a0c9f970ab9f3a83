"""The performance events of the kernel, by the system call perf_event_open."""
