"""Names of locks in published data, and the project's names of the same locks."""

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
"""Project names by the names in other studies, in small letters with dashes."""


def project_name(name: str) -> str:
    """Return the project's name of a lock, or the name itself of an unknown one, in small letters
    with dashes."""
    plain = re.sub(r"[\s_-]+", "-", name.strip().lower())
    return _ELSEWHERE.get(plain, plain)
