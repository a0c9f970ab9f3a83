"""Lockwright: swap the lock under an unmodified program, and show which lock is best."""

__all__ = ["version"]


def version() -> str:
    """Version of the installed package; "unknown" when it runs from a source tree."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("lockwright")
    except PackageNotFoundError:
        return "unknown"
