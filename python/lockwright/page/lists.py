"""Lists of a page: terms with what they mean, and points."""

from collections.abc import Iterable, Mapping
from html import escape


def terms(facts: Mapping[str, str], kind: str = "") -> str:
    """Names and what is known of each. kind: class of the list."""
    rows = (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return f'<dl class="{kind}">{"".join(rows)}</dl>'


def points(lines: Iterable[str]) -> str:
    """A line for each, or that there are none."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else "<p>None.</p>"
