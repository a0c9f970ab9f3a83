"""The stress test of locks: many threads, disturbances and declared machines."""
