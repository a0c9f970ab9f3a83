"""The search for the best combination of a lock with an allocator, processors, policy and pages."""
