"""All claims."""

from lockwright.base.errors import LockwrightError

from lockwright_lab.bench.claims import (
    application_study,
    herd,
    malthusian,
    mutable_locks,
    unlocking_energy,
)
from lockwright_lab.bench.claims.claim import Claim

CLAIMS: list[Claim] = [
    *application_study.CLAIMS,
    *herd.CLAIMS,
    *malthusian.CLAIMS,
    *unlocking_energy.CLAIMS,
    *mutable_locks.CLAIMS,
]
"""The claims by paper, in the order of the output."""


def choose(names: str | None) -> list[Claim]:
    """Return the claims of a comma-separated list of names; all for None.

    Raises LockwrightError for an unknown name.
    """
    if names is None:
        return CLAIMS
    known = {claim.name: claim for claim in CLAIMS}
    wanted = [word.strip() for word in names.split(",") if word.strip()]
    for name in wanted:
        if name not in known:
            raise LockwrightError(
                f"there is no claim '{name}'", "'lockwright bench claims --list' names them"
            )
    if not wanted:
        raise LockwrightError("--claims names no claim", "give names, separated by commas")
    return [known[name] for name in dict.fromkeys(wanted)]
