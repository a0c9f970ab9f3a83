"""The short run has a lock of every combination of traits, and each other test is in one slice."""

from typing import cast

import pytest
from support import locate, tiers


class Named:
    def __init__(self, name: str) -> None:
        self.nodeid = name


def item(name: str) -> pytest.Item:
    return cast(pytest.Item, Named(name))


def test_the_representatives_have_every_trait() -> None:
    chosen, few = tiers.representatives(), tiers.representatives(memory=False)
    for trait in ("parking", "is_default"):
        of_all = {locate.traits(name)[trait] for name in locate.lock_names()}
        assert {locate.traits(name)[trait] for name in few} == of_all
    outside = {locate.traits(name)["bytes_per_mutex_outside"] > 0 for name in chosen}
    assert outside == {locate.traits(n)["bytes_per_mutex_outside"] > 0 for n in locate.lock_names()}
    assert few <= chosen
    assert len(chosen) <= 8


def test_the_build_of_the_short_run_counts_under_the_representatives() -> None:
    assert all(locate.preload(name, counting=True).exists() for name in tiers.representatives())


def test_each_test_is_in_one_of_successive_slices() -> None:
    """A slice is a part of all, and other revisions have other slices."""
    names = [f"test_{i}" for i in range(2000)]
    slices = {
        frozenset(name for name in names if tiers.in_slice(item(name), f"{revision}", 20))
        for revision in range(200)
    }
    assert len(slices) == 20
    assert set.union(*map(set, slices)) == set(names)
    assert all(50 < len(each) < 150 for each in slices)


def test_values_that_the_short_run_leaves_out_are_marked() -> None:
    """Also where a value is a tuple of the values of several parameters."""
    one, other = tiers.short([1, 2], [1], "long")
    assert one == 1
    assert (other.values, [mark.args for mark in other.marks]) == ((2,), [("long",)])
    [pair] = tiers.short([("a", 3)], [], "long")
    assert pair.values == ("a", 3)


def test_left_out_tests_are_counted_by_reason() -> None:
    left_out = [(item("a.py::test[1]"), "long"), (item("a.py::test[2]"), "long")]
    assert tiers.table(left_out) == ["    2 a.py::test: long"]
