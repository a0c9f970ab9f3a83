"""Shortened names of functions."""

import re

_CLONE = re.compile(r"( \[clone [^]]*\]|\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*)+$")


def function(symbol: str) -> str:
    """Return a symbol without the function's parameters and the compiler's suffixes for parts and
    clones."""
    symbol = _CLONE.sub("", symbol)
    name = symbol.removesuffix(" const")
    if not name.endswith(")"):
        return symbol
    depth = 0
    for position in range(len(name) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(name[position], 0)
        if depth == 0:
            # An operator without parameters in its name: the parentheses are its name.
            return symbol if name[:position].endswith("operator") else name[:position]
    return symbol


LONG = 60
"""Number of characters above which a name is printed without template arguments."""

_TAG = re.compile(r"\[abi:\w+\]")
_STRING = re.compile(
    r"std::(?:__cxx11::|__1::)?basic_string<char, std::(?:__1::)?char_traits<char>,"
    r" std::(?:__1::)?allocator<char> ?>"
)
_COMPARES = re.compile(r"\boperator\s*[-<>]")
_LAMBDA = re.compile(r"\{lambda\([^{}]*\)(#\d+)\}")


def with_string(symbol: str) -> str:
    """Return the symbol with std::string as in the source."""
    return _STRING.sub("std::string", symbol)


def brief(symbol: str) -> str:
    """Return a function's name without parameters; a long name also loses template arguments and
    the parameters of lambdas."""
    name = with_string(_TAG.sub("", function(symbol)))
    if len(name) <= LONG:
        return name
    name = without_arguments(name, "<>")
    while (shorter := _LAMBDA.sub(r"{lambda\1}", name)) != name:
        name = shorter
    return name


def without_arguments(name: str, instead: str = "") -> str:
    """Return the name with `instead` in place of each <...>."""
    if _COMPARES.search(name):
        return name
    letters: list[str] = []
    depth = 0
    for letter in name:
        if letter == "<":
            depth += 1
        elif letter == ">" and depth > 0:
            depth -= 1
            letters += instead if depth == 0 else ""
        elif depth == 0:
            letters.append(letter)
    return "".join(letters)
