"""Puts a page together: a template, styles, scripts, data and plotly.js, all in one file."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_BASE = Path(__file__).parent

CHIPS = "chips"
"""Buttons that choose the locks which are shown."""


def fill(
    folder: Path,
    parts: Mapping[str, str],
    data: Mapping[str, object],
    also: Sequence[str | Path] = (),
) -> str:
    """The frame that all pages share, around the page.html of `folder`.

    parts: what stands there as @@name@@; one is the title. also: what only some pages share, such
    as CHIPS, or pieces of this page, as paths without a suffix. Besides `parts` there are css and
    js (what all pages share, what is in `also`, then page.css and page.js of the folder), plotly,
    and data: JSON for a script, which names `locks` and `baseline`. Raises ValueError for numbers
    that are not finite.
    """
    places = [*(_BASE / name for name in ("base", *also)), folder / "page"]
    given = {
        **parts,
        "css": "".join(_read(place.with_suffix(".css")) for place in places),
        "js": "\n".join(_read(place.with_suffix(".js")) for place in places),
        # A closing tag inside a string would end the script element.
        "data": json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/"),
        "plotly": _plotly(),
    }
    body = _put_in(_read(folder / "page.html"), given)
    return _put_in(_read(_BASE / "frame.html"), {**given, "body": body})


def _put_in(template: str, parts: Mapping[str, str]) -> str:
    # Split, not replaced in turn: what is put in may hold the mark of another part.
    pieces = template.split("@@")
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs().replace("</script", "<\\/script"))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
