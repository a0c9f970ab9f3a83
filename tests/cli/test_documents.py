"""Documents of a wrong form are refused in one line with the place, the fault and a remedy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.base.errors import LockwrightError
from msgspec import Meta

Share = Annotated[float, Meta(ge=0, le=1)]


class Part(Table, frozen=True):
    name: Annotated[str, Meta(pattern="^[a-z]+$")]
    threads: Annotated[int, Meta(ge=1)] | None = None
    kind: Literal["hold", "wait"] | None = None
    shares: Mapping[str, Share] = {}
    bounds: tuple[tuple[float, float], ...] = ()
    command: str | tuple[str, ...] = ()
    costs: Mapping[Literal["near", "far"], int] = {}


class Whole(Table, frozen=True):
    parts: list[Part]
    low: float = 0
    high: float = 1

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high; correct one of them")


def refusal(kind: type[Any], document: Any) -> str:
    with pytest.raises(LockwrightError) as refused:
        documents.convert(kind, document, "a.toml")
    assert refused.value.status == 2
    return f"{refused.value.what}; {refused.value.todo}"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({}, "a.toml: parts[2].name: is missing; correct it"),
        ({"nam": "x"}, "a.toml: parts[2].nam: is not a key of this table; did you mean 'name'?"),
        ({"threads": "2"}, "a.toml: parts[2].threads: is '2', not a whole number"),
        ({"threads": True}, "a.toml: parts[2].threads: is true, not a whole number"),
        ({"threads": 0}, "a.toml: parts[2].threads: is 0, not a whole number >= 1"),
        ({"name": "A"}, "a.toml: parts[2].name: is 'A', not a text matching regex '^[a-z]+$'"),
        ({"kind": "hole"}, "a.toml: parts[2].kind: is 'hole'; did you mean 'hold'?"),
        ({"kind": "zzz"}, "a.toml: parts[2].kind: is 'zzz'; choose from hold, wait"),
        ({"shares": {"a": 1, "b": 2}}, "a.toml: parts[2].shares.b: is 2, not a number <= 1.0"),
        (
            {"shares": {"a.b": float("nan")}},
            "a.toml: parts[2].shares.a.b: is NaN, not a number >= 0.0",
        ),
        ({"shares": 3}, "a.toml: parts[2].shares: is 3, not a table"),
        ({"bounds": [[1, 2], [1]]}, "a.toml: parts[2].bounds[2]: is [1], not a list of length 2"),
        ({"bounds": [[1, "x"]]}, "a.toml: parts[2].bounds[1][2]: is 'x', not a number"),
        ({"command": 3}, "a.toml: parts[2].command: is 3, not a text or a list"),
        ({"command": ["a", 3]}, "a.toml: parts[2].command[2]: is 3, not a text"),
        ({"costs": {"fat": 3}}, "a.toml: parts[2].costs.fat: is 'fat'; did you mean 'far'?"),
        ({"costs": {"far": []}}, "a.toml: parts[2].costs.far: is [], not a whole number"),
        ({"name": "x" * 50 + "1" * 50}, f"a.toml: parts[2].name: is '{'x' * 50}111111..., not"),
    ],
)
def test_a_wrong_value_is_named(part: dict[str, Any], expected: str) -> None:
    good = {"name": "a"}
    given = part if part.keys() <= {"nam"} else {**good, **part}
    assert refusal(Whole, {"parts": [good, given]}).startswith(expected)


def test_a_check_of_several_keys_names_its_remedy() -> None:
    document = {"parts": [], "low": 2, "high": 1}
    assert refusal(Whole, document) == "a.toml: low is above high; correct one of them"
    assert refusal(Whole, 3) == "a.toml: is 3, not a table; correct it"


def test_half_a_character_is_refused() -> None:
    document = documents.parse_json(r'{"name": "a", "kind": "\ud800"}')
    assert refusal(Part, document).startswith("a.toml: has a text that is not Unicode; ")


@dataclass(frozen=True)
class Row:
    name: str
    value: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def test_further_keys_of_a_dataclass_are_left_out() -> None:
    text = '{"name": "a", "value": 2, "facts": {"x": [1]}, "newer": 3}'
    assert documents.decode(Row, text, "a.json") == Row("a", 2.0, {"x": [1]})


@pytest.mark.parametrize(
    "text",
    ['{"name": "a"', "", "[" * 100_000, '{"value": 1e300}', f'{{"value": {2**64}}}']
    + [f'{{"facts": {{"x": {number}}}}}' for number in ("NaN", "-Infinity", "1e999", "9" * 5000)],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(LockwrightError, match=r"^a\.json is not JSON: ") as refused:
        documents.decode(Row, text, "a.json")
    assert len(refused.value.what) < 250


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a = 1\nb =", "is not TOML: Invalid value"),
        (b"\xff", "is not TOML"),
        (b"a = " + b"[" * 10_000, "is not TOML"),
        (None, "cannot read .*No such file"),
    ],
)
def test_what_is_no_toml_is_refused(tmp_path: Path, content: bytes | None, expected: str) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LockwrightError, match=expected):
        documents.read_toml(path)
