"""Lockwright: swap the lock under an unmodified program, and show which lock is best."""

__all__ = ["version"]


def version() -> str:
    """Return the version of the installed package; "unknown" in a source tree."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("lockwright")
    except PackageNotFoundError:
        return "unknown"
