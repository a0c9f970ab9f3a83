"""Estimates of an application's throughputs from others, on made-up applications."""

import numpy as np
import pandas as pd
import pytest
from lockwright.predict.skeletons import similar

KNOWN = ("pthread", "ttas", "mcs-stp", "hmcs")
NODES = (1, 4, 8)


def table(speed: float, other: float) -> pd.DataFrame:
    """An application in which `ticket` is as fast as hmcs is, and `clh` is `other` times pthread.
    speed: of the locks that do not park, in that of the others."""
    rates = {"pthread": 1.0, "ttas": speed, "mcs-stp": 1.0, "hmcs": speed, "ticket": speed}
    rates["clh"] = other
    rows = [[rate * np.sqrt(nodes) for rate in rates.values()] for nodes in NODES]
    return pd.DataFrame(rows, index=list(NODES), columns=list(rates))


MADE = {f"made{number}": table(1 + number / 10, 1.0) for number in range(-8, 9)}


@pytest.mark.parametrize("speed", [0.5, 0.9, 1.3])
def test_a_lock_that_is_like_a_known_one_is_found(speed: float) -> None:
    own = table(speed, 1.0)
    found = similar.estimate("new", {**MADE, "new": own}, KNOWN)
    assert found["hmcs"] == own.iloc[-1]["hmcs"]
    assert found["ticket"] == pytest.approx(own.iloc[-1]["ticket"], rel=0.15)
    assert (found["ticket"] > found["pthread"]) == (speed > 1)


def test_other_throughputs_of_the_application_are_not_used() -> None:
    found = [
        similar.estimate("new", {**MADE, "new": table(1.2, other)}, KNOWN)
        for other in (0.01, 100.0)
    ]
    assert found[0] == found[1]


def test_other_versions_of_the_program_are_not_used() -> None:
    assert similar.same_program("memcached-new") == similar.same_program("memcached-old")
    assert similar.same_program("p_raytrace") != similar.same_program("s_raytrace")
    tables = {**MADE, "new": table(1.2, 1.0)}
    alone = similar.estimate("new", tables, KNOWN)
    beside = similar.estimate("new", {**tables, "new_ll": table(1.2, 100.0)}, KNOWN)
    assert beside == alone


def test_an_application_without_the_known_locks_is_left_out() -> None:
    tables = {**MADE, "parks": table(1.2, 50.0).drop(columns=["ttas"]), "new": table(1.2, 1.0)}
    found = similar.estimate("new", tables, KNOWN)
    assert found == similar.estimate(
        "new", {name: each for name, each in tables.items() if name != "parks"}, KNOWN
    )


def test_a_lock_of_few_applications_has_no_estimate() -> None:
    few = {name: each.assign(rare=1.0) for name, each in list(MADE.items())[:4]}
    found = similar.estimate("new", {**MADE, **few, "new": table(1.2, 1.0)}, KNOWN)
    assert "rare" not in found
    assert "clh" in found
