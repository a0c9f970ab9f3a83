"""Lock bottlenecks that maintainers removed, replayed and compared with the advice."""
