"""The error class for problems that the user can solve, and how it is printed."""

from collections.abc import Collection


class LockwrightError(Exception):
    """A problem that the user can solve; ends the command with one line and `status`. what: the
    problem; todo: the remedy; both without full stops."""

    def __init__(self, what: str, todo: str, status: int = 2) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.status = status

    def line(self) -> str:
        """Return the message as one printable line."""
        return _printable_line(f"lockwright: {self.what}; {self.todo}")


def nearest_hint(name: str, known: Collection[str], otherwise: str = "") -> str:
    """Return a question with the known name closest to `name`; if none is close, `otherwise`, by
    default the list of the known names."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else otherwise or f"choose from {', '.join(known)}"


def explain(error: LockwrightError) -> None:
    """Print an error on standard error; do nothing if that cannot be written."""
    _print(error.line())


def warn(text: str) -> None:
    """Print a warning on standard error as one line; do nothing if that cannot be written."""
    _print(_printable_line(f"lockwright: {text}"))


def _print(line: str) -> None:
    import contextlib
    import sys

    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _printable_line(text: str) -> str:
    # Control characters in the text must not reach the terminal.
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
