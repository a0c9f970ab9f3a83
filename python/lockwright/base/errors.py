"""The error class for problems that the user can solve, and how it is printed."""


class LockwrightError(Exception):
    """A problem that the user can solve; ends the command with one line and `status`.

    what: the problem. todo: what to do about it.
    """

    def __init__(self, what: str, todo: str, status: int = 2) -> None:
        """what, todo: the two halves of the line, without full stops."""
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.status = status

    def line(self) -> str:
        """Return the message as one printable line."""
        return _printable_line(f"lockwright: {self.what}; {self.todo}")


def explain(error: LockwrightError) -> None:
    """Print an error on standard error; do nothing if that cannot be written."""
    import contextlib
    import sys

    with contextlib.suppress(OSError):
        print(error.line(), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print a warning on standard error as one line; do nothing if that cannot be written."""
    import contextlib
    import sys

    with contextlib.suppress(OSError):
        print(_printable_line(f"lockwright: {text}"), file=sys.stderr, flush=True)


def _printable_line(text: str) -> str:
    # Control characters in the text must not reach the terminal.
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
