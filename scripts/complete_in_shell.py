"""Let an interactive shell complete a line, and fail if it does not become what is expected.

complete_in_shell.py SHELL LINE EXPECTED [SCRIPT]

LINE is typed into bash, zsh or fish, with Tab at its end; EXPECTED is part of what the shell then
shows. SCRIPT: the completion script; without it the shell looks for one where packages put it.
"""

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

_LIMIT = 30
"""Seconds for everything that the shell does."""

_READY = "is ready"
_SYSTEM = "/usr/share/bash-completion/bash_completion"


def commands(shell: str, script: str) -> list[str]:
    """Return the words that start a shell, and the line that prepares it."""
    # The text of the line, which the terminal echoes, is not that of its output.
    ready = "echo 'is re''ady'"
    if shell == "bash":
        source = f"source {shlex.quote(script or _SYSTEM)}"
        return ["bash --norc --noprofile -i", f"PS1=; {source}; {ready}"]
    folder = f"fpath=({shlex.quote(str(Path(script).parent))} $fpath); " if script else ""
    return ["zsh -f -i", f"PS1=; {folder}autoload -Uz compinit; compinit -D -u; {ready}"]


def shown_by_fish(line: str, script: str) -> str:
    """Return the candidates that fish would show."""
    source = f"source {shlex.quote(script)}; " if script else ""
    words = ["fish", "--no-config"] if script else ["fish"]
    result = subprocess.run(
        [*words, "--command", f"{source}complete -C {shlex.quote(line)}"],
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )
    return result.stdout + result.stderr


def shown(shell: str, line: str, expected: str, script: str) -> str:
    """Return what the shell shows from the typed line on."""
    if shell == "fish":
        return shown_by_fish(line, script)
    words, preparation = commands(shell, script)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(words.split()[0], words.split(), os.environ | {"TERM": "dumb"})
    end = time.monotonic() + _LIMIT
    text = ""
    try:
        for typed, wanted in ((f"{preparation}\n", _READY), (f"{line}\t", expected)):
            os.write(terminal, typed.encode())
            text = ""
            while wanted not in text and time.monotonic() < end:
                if select.select([terminal], [], [], 0.2)[0]:
                    received = os.read(terminal, 65536).decode(errors="replace")
                    # The bell rings in the middle of a name that several names begin with.
                    text += received.replace("\a", "")
    except OSError as error:
        text += f"\n{error}"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    return text


def main(shell: str, line: str, expected: str, script: str = "") -> int:
    """Print what the shell shows; return 1 if that lacks `expected`."""
    text = shown(shell, line, expected, script)
    print(text)
    return 0 if expected in text else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
