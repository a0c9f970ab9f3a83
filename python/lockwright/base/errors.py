"""The one kind of error a user is shown."""


class LockwrightError(Exception):
    """Something the user can put right; ends the command with one line and `status`.

    what: what is wrong.
    todo: what to do about it.
    """

    def __init__(self, what: str, todo: str, status: int = 2) -> None:
        """Takes the two halves of the line, without full stops."""
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.status = status

    def line(self) -> str:
        """The whole message on one line, whatever a program or a path put into it."""
        return _printable_line(f"lockwright: {self.what}; {self.todo}")


def explain(error: LockwrightError) -> None:
    """Prints an error as its line; does nothing where standard error cannot be written."""
    import contextlib
    import sys

    with contextlib.suppress(OSError):
        print(error.line(), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Prints a warning in one line; does nothing where standard error cannot be written."""
    import contextlib
    import sys

    with contextlib.suppress(OSError):
        print(_printable_line(f"lockwright: {text}"), file=sys.stderr, flush=True)


def _printable_line(text: str) -> str:
    # A terminal must not obey what was meant to be shown.
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
