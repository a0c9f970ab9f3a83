"""The placeholders of a command."""

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.base.template import expand, uses_threads


@pytest.mark.parametrize(
    ("word", "threads", "expected"),
    [
        ("{threads}", 4, "4"),
        ("-t{threads}x", 16, "-t16x"),
        ("{threads}/{threads}", 2, "2/2"),
        ("{=3200000//t}", 16, "200000"),
        ("{= 2 * (t + 1) - 3 }", 5, "9"),
        ("{=-t+10}", 3, "7"),
        ("{=min(t,8)}-{=max(t, 8, 9)}", 4, "4-9"),
        ("{print $1}", 4, "{print $1}"),
        ("{}", 4, "{}"),
        ("{t}", 4, "{t}"),
    ],
)
def test_placeholders_are_replaced_and_other_braces_are_not(
    word: str, threads: int, expected: str
) -> None:
    assert expand(word, threads) == expected


@pytest.mark.parametrize(
    "expression",
    ["", "t+", "t**9", "t/2", "t%2", "1.5*t", "x", "abs(t)", "min(t)", "__import__('os')",
     "t.real", "[t][0]", "t if t else 1", "True", "'a'", "min(t, key=t)", "t<3", "1" * 300],
)  # fmt: skip
def test_anything_but_arithmetic_is_refused(expression: str) -> None:
    """No power, no division but `//`, no names, and no calls but min and max are allowed."""
    with pytest.raises(LockwrightError):
        expand(f"{{={expression}}}", 4)


def test_division_by_zero_names_the_number_of_threads() -> None:
    """The expression may be valid for other numbers of threads."""
    assert expand("{=8//(t-2)}", 4) == "4"
    with pytest.raises(LockwrightError, match="2 threads"):
        expand("{=8//(t-2)}", 2)


def test_a_missing_brace_is_refused() -> None:
    """Else it would be passed to the program."""
    with pytest.raises(LockwrightError, match="closing brace"):
        expand("{=t+1", 4)


def test_use_of_threads_is_recognised() -> None:
    """Both forms count, other braces do not."""
    assert uses_threads(["a", "-j{threads}"])
    assert uses_threads(["{=t}"])
    assert not uses_threads(["{}", "{print}"])
