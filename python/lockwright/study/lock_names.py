"""Names of locks in published data, and what the same locks are called here."""

import re

_ELSEWHERE = {
    "malthusian-spin": "malth-spin",
    "malthusian-stp": "malth-stp",
    "mcs-s": "mcs-spin",
    "mcs-sts": "mcs-stp",
    "mcs-tp": "mcs-timepub",
    "mcscr-s": "malth-spin",
    "mcscr-stp": "malth-stp",
    "mutex": "pthread",
    "mutlock": "mutable",
    "pt-adaptive": "pthreadadapt",
    "pt-mutex": "pthread",
    "pthread-adaptive": "pthreadadapt",
    "pthread-mutex": "pthread",
    "spin-lock": "spinlock",
}
"""Names that other studies use; the key is written in small letters, with dashes."""


def project_name(name: str) -> str:
    """The project's name of a lock. Small letters, dashes for underscores and blanks.

    A lock that is not known keeps its name in that spelling: a study may hold any lock.
    """
    plain = re.sub(r"[\s_-]+", "-", name.strip().lower())
    return _ELSEWHERE.get(plain, plain)
