"""`lockwright bench`: what each lock costs; lives in lockwright.bench."""

from lockwright.bench import bench as command

__all__ = ["command"]
