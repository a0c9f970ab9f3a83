"""The waits that running programs count in their segments, as Prometheus metrics."""
