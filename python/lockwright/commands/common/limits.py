"""Values of options that have a unit: a percentage, a time."""

import re
from typing import Any

import click

from lockwright.base import numbers


class Percentage(click.ParamType):  # type: ignore[type-arg]  # no parameter before click 8.3
    """A percentage from 0 to below 100, as in `5%`, converted to a share."""

    name = "percentage"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share; fail for other text."""
        if isinstance(value, float):
            return value
        percent = numbers.number(str(value).strip().removesuffix("%"))
        if percent is None or not 0 <= percent < 100:
            self.fail(f"'{value}' is not a percentage from 0 to below 100, as in 5%", param, ctx)
        return percent / 100


_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|min|m|h|)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Duration(click.ParamType):  # type: ignore[type-arg]  # no parameter before click 8.3
    """A time such as 90, 90s, 5m or 1h, converted to seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds; fail for other text."""
        match = _TIME.fullmatch(str(value).strip())
        seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
        if not 0 < seconds < 1e7:
            self.fail(f"'{value}' is not a time, as in 90s, 5m or 1h", param, ctx)
        return seconds
