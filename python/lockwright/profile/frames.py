"""The frames of a recorded stack, and what its place is called."""

from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.profile.function_names import brief, with_string
from lockwright.profile.lock_functions import is_known


@dataclass(frozen=True)
class Frame:
    """An address in code or data: a loaded file, the offset in its address space, and its symbol
    and source line where they are known."""

    module: str
    offset: int
    symbol: str = ""
    symbol_offset: int = 0
    source: str = ""

    @property
    def label(self) -> str:
        """The name: symbol and source, or module and offset."""
        name = with_string(self.symbol) or f"{Path(self.module).name}+{self.offset:#x}"
        return f"{name} ({self.source})" if self.source else name

    @property
    def short_label(self) -> str:
        return replace(self, symbol=brief(self.symbol)).label


def stack_label(stack: tuple[Frame, ...], wrappers: int) -> str:
    """Return the label of the caller of a stack's wrappers; "" for an empty stack."""
    if not stack:
        return ""
    if not 0 < wrappers < len(stack):
        return stack[0].short_label
    return stack[wrappers].short_label + via(stack, wrappers)


def via(stack: tuple[Frame, ...], wrappers: int) -> str:
    """Return the outermost wrapper, in parentheses, unless all wrappers are library functions."""
    named = [frame for frame in stack[:wrappers] if not is_known(frame.symbol)]
    return f" (via {replace(named[-1], source='').short_label})" if named else ""
