"""Limits that options accept in per cent."""

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
