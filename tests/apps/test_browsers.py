"""Firefox, and Chromium with its sandbox, draw a page under every way of waiting.

Both start children that the C library knows nothing of, whose thread's number they correct by way
of a mutex, and forbid these children most system calls.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lockwright.preload import counters
from PIL import Image
from support import harness, locate

#: The C library without anything, and locks that wait in each way. Of those that poll in the order
#: of arrival none: with more threads than processors they take minutes.
LOCKS = [harness.LIBC, "pthread", "futex", "mcs-stp", "ttas", "backoff"]
if locate.LONG:
    LOCKS += [name for name in locate.lock_names() if locate.traits(name)["parking"]]
BUILT = [lock for lock in dict.fromkeys(LOCKS) if lock in [harness.LIBC, *locate.lock_names()]]

#: The first lines of the command. `{file}` is the picture that it makes.
BROWSERS = {
    "firefox-esr": ["--headless", "--window-size=320,240", "--screenshot", "{file}"],
    "chromium": ["--headless", "--window-size=320,240", "--hide-scrollbars", "--screenshot={file}"],
}

#: What a browser's sandbox makes impossible.
NOT_IN_ITS_SANDBOX = {
    ("chromium", lock): "the lock needs membarrier(2), for which the sandbox ends a process"
    for lock in ("biased-futex", "biased-mcs-stp")
}

COLOUR = (0x24, 0x68, 0xAC)
PAGE = f"""<!doctype html><title>A page</title><body><script>
document.body.style.background = "rgb(" + {list(COLOUR)}.join() + ")";
</script>"""


@dataclass(frozen=True)
class User:
    """Somebody who is not root, from whom Chromium keeps its sandbox."""

    becomes: list[str]
    home: Path

    def may_have_namespaces(self) -> bool:
        words = [*self.becomes, "unshare", "--user", "true"]
        done = subprocess.run(words, capture_output=True, timeout=60, check=False)
        return done.returncode == 0


@pytest.fixture
def user() -> Iterator[User]:
    # Not where pytest has its files, which are for nobody else.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)
        home = Path(place) / "home"
        home.mkdir()
        becomes = []
        if os.geteuid() == 0:
            shutil.chown(home, "nobody", "nogroup")
            becomes = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        yield User(becomes, home)


@contextlib.contextmanager
def counted(lock: str, user: User) -> Iterator[tuple[dict[str, str], Path | None]]:
    """The environment that puts the lock under a program of the user's, and what counts there."""
    with counters.counters_file() as counts:
        env = harness.environment(harness.Setting(lock), counting=True)
        env["HOME"] = str(user.home)
        for name in [name for name in env if name.startswith(("XDG_", "DBUS_"))]:
            del env[name]
        if lock == harness.LIBC:
            yield env, None
            return
        # The checkout may be somewhere that the user cannot reach.
        library = shutil.copy(env["LD_PRELOAD"], user.home.parent)
        counts.chmod(0o666)
        yield env | {"LD_PRELOAD": str(library), counters.VARIABLE: str(counts)}, counts


@pytest.mark.parametrize("browser", BROWSERS)
@pytest.mark.parametrize("lock", BUILT)
def test_picture_of_a_page(user: User, lock: str, browser: str) -> None:
    program = shutil.which(browser)
    if program is None:
        pytest.skip(f"{browser} is not installed; tests/apps/more-packages.txt names its package")
    if reason := NOT_IN_ITS_SANDBOX.get((browser, lock)):
        pytest.skip(reason)
    if browser == "chromium" and not user.may_have_namespaces():
        pytest.skip("Chromium's sandbox needs user namespaces, which are not to be had here")
    page = user.home.parent / "page.html"
    page.write_text(PAGE)
    picture = user.home / "picture.png"
    words = [word.format(file=picture) for word in BROWSERS[browser]]
    with counted(lock, user) as (env, counts):
        argv = [*user.becomes, program, *words, page.as_uri()]
        outcome = harness.run(argv, env, cwd=user.home)
        assert outcome.status == 0, outcome.describe()
        # A browser goes on without some of its processes.
        assert not re.search(r"\bsignal 11\b|\bSIGSEGV\b", outcome.stderr), outcome.describe()
        assert counts is None or counters.read(counts).mutexes > 100
    with Image.open(picture) as image:
        assert (image.format, image.size) == ("PNG", (320, 240))
        shown = image.convert("RGB")
        assert [shown.getpixel(at) for at in [(2, 2), (160, 120), (317, 237)]] == [COLOUR] * 3


def test_each_way_of_waiting_is_there() -> None:
    ways = {lock: locate.traits(lock)["waiting"] for lock in locate.lock_names()}
    assert {ways[lock] for lock in BUILT if lock != harness.LIBC} == set(ways.values())
