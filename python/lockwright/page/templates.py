"""The Jinja2 templates of reports, each of which is one file with its styles, scripts and data.

A template lies beside the module that fills it, and is named by its path in its package. It extends
page/frame.html, sets `parts` to its additional styles and scripts, and fills the block `body`;
page/macros.html has tables and lists.
"""

import shlex
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lockwright.base import numbers

_PACKAGE = Path(__file__).parents[1]


def fill(
    template: str, data: Mapping[str, object], *, root: Path = _PACKAGE, **values: object
) -> str:
    """Return the file as text. template: path in the package, as in "experiment/page/page.html".
    data: the data of the scripts, with `locks` and `baseline`. root: the folder of another package.
    values: the variables of the template. Raises ValueError for numbers in data that are not
    finite."""
    return _environment(root).get_template(template).render(data=data, **values)


@cache
def _environment(root: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([root, _PACKAGE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.globals |= {"numbers": numbers, "source": partial(_source, root), "plotly": _plotly}
    environment.filters["shell"] = shlex.join
    return environment


def _source(root: Path, path: str) -> Markup:
    """Return a style or script of either package without template processing of its braces."""
    file = root / path if (root / path).is_file() else _PACKAGE / path
    # A part may have no style of its own.
    is_absent = path.endswith(".css") and not file.is_file()
    return Markup("" if is_absent else file.read_text(encoding="utf-8"))


@cache
def _plotly() -> Markup:
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs().replace("</script", "<\\/script"))
