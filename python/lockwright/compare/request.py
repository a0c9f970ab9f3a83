"""What a comparison or a tuning is asked for, before it is checked."""

from dataclasses import dataclass
from pathlib import Path

from lockwright.experiment import request


@dataclass(frozen=True)
class Request:
    """The options that `compare` and `tune` share.

    arguments: the command line; threads: such as "1,2,16", None for a command without {threads};
    metric: a regular expression, None for the wall time; rwlock, spin: what replaces other locks,
    None for the present setting; preload: other libraries, such as "name=path"; prepare: a shell
    command before each run; output: files, and where the runs are stored.
    """

    arguments: tuple[str, ...]
    threads: str | None = None
    metric: str | None = None
    unit: str | None = None
    lower_is_better: bool = False
    timeout: float = 60.0
    rwlock: str | None = None
    spin: str | None = None
    preload: tuple[str, ...] = ()
    energy: bool = False
    counters: bool = False
    prepare: str | None = None
    output: request.Request = request.DEFAULTS

    @property
    def program(self) -> str:
        """The name of the program, for titles."""
        return Path(self.arguments[0]).name
