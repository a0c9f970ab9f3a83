"""Tests of Firefox and Chromium, which draw a page under locks of each `waiting` trait.

Both start children without the C library, whose thread number they correct by means of a mutex, and
forbid these children most system calls.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lockwright.preload import counters
from PIL import Image
from support import harness, locate
from support.processes import captured

#: The C library's mutex, the default lock, and locks of each `waiting` trait, except FIFO locks
#: that poll: with more threads than processors they take minutes.
LOCKS = [harness.LIBC, "adaptive", "pthread", "futex", "mcs-stp", "ttas", "backoff"]
MORE = [name for name in locate.lock_names() if locate.traits(name)["parking"]]
BUILT = [lock for lock in LOCKS if lock in [harness.LIBC, *locate.lock_names()]]
#: Under the default lock each run draws a page.
FULL = pytest.mark.full("one lock shows that the browser starts")

#: Options for a screenshot to `{file}`.
BROWSERS = {
    "firefox-esr": ["--headless", "--window-size=320,240", "--screenshot", "{file}"],
    "chromium": ["--headless", "--window-size=320,240", "--hide-scrollbars", "--screenshot={file}"],
}

#: Locks that do not run in a browser's sandbox.
REFUSED_BY_SANDBOX = {
    ("chromium", lock): "the lock needs membarrier(2), for which the sandbox ends a process"
    for lock in ("biased-futex", "biased-mcs-stp")
}

COLOUR = (0x24, 0x68, 0xAC)
PAGE = f"""<!doctype html><title>A page</title><body><script>
document.body.style.background = "rgb(" + {list(COLOUR)}.join() + ")";
</script>"""


@dataclass(frozen=True)
class User:
    """A user without privileges: root cannot use Chromium's sandbox. words: those before a command
    that run it as this user."""

    words: list[str]
    home: Path

    def may_have_namespaces(self) -> bool:
        words = [*self.words, "unshare", "--user", "true"]
        return captured(words, timeout=60).returncode == 0


@pytest.fixture
def user() -> Iterator[User]:
    # Other users cannot access the directories of pytest.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        home.mkdir()
        words = []
        if os.geteuid() == 0:
            shutil.chown(home, "nobody", "nogroup")
            words = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        yield User(words, home)


@contextlib.contextmanager
def counted(lock: str, user: User) -> Iterator[tuple[dict[str, str], Path | None]]:
    """Yield the environment that runs a user's program under a lock, and the counters file."""
    with counters.counters_file() as counts:
        env = harness.environment(harness.Setting(lock), counting=True)
        env["HOME"] = str(user.home)
        for name in [name for name in env if name.startswith(("XDG_", "DBUS_"))]:
            del env[name]
        if lock == harness.LIBC:
            yield env, None
            return
        # The user may not be able to access the checkout.
        library = shutil.copy(env["LD_PRELOAD"], user.home.parent)
        counts.chmod(0o666)
        yield env | {"LD_PRELOAD": str(library), counters.VARIABLE: str(counts)}, counts


@pytest.mark.parametrize("browser", BROWSERS)
@pytest.mark.parametrize(
    "lock",
    [
        pytest.param(lock, marks=[] if lock == "adaptive" else FULL)
        for lock in dict.fromkeys([*BUILT, *MORE])
    ],
)
def test_picture_of_a_page(user: User, lock: str, browser: str) -> None:
    program = shutil.which(browser)
    if program is None:
        pytest.skip(f"{browser} is not installed; tests/apps/more-packages.txt names its package")
    if reason := REFUSED_BY_SANDBOX.get((browser, lock)):
        pytest.skip(reason)
    if browser == "chromium" and not user.may_have_namespaces():
        pytest.skip("Chromium's sandbox needs user namespaces, which are not available")
    page = user.home.parent / "page.html"
    page.write_text(PAGE)
    picture = user.home / "picture.png"
    words = [word.format(file=picture) for word in BROWSERS[browser]]
    with counted(lock, user) as (env, counts):
        argv = [*user.words, program, *words, page.as_uri()]
        outcome = harness.run(argv, env, cwd=user.home).succeeded()
        # A browser continues without some of its processes.
        assert not re.search(r"\bsignal 11\b|\bSIGSEGV\b", outcome.stderr), outcome.describe()
        assert counts is None or counters.read(counts).mutexes > 100
    with Image.open(picture) as image:
        assert (image.format, image.size) == ("PNG", (320, 240))
        points = [(2, 2), (160, 120), (317, 237)]
        assert [image.convert("RGB").getpixel(point) for point in points] == [COLOUR] * 3


def test_each_waiting_trait_is_tested() -> None:
    waiting = {lock: locate.traits(lock)["waiting"] for lock in locate.lock_names()}
    assert {waiting[lock] for lock in BUILT if lock != harness.LIBC} == set(waiting.values())
