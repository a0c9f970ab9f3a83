"""The demangler of C++ and Rust names."""

import ctypes
import re

from lockwright.base import tool

_RUST = re.compile(r"_R[A-Z].*|_ZN.*17h[0-9a-f]{16}E")
"""Names of both schemes of Rust; those of the older one look like C++."""

_HASH = re.compile(r"::h[0-9a-f]{16}$|\[[0-9a-f]{8,16}\]")


def demangled(name: str) -> str:
    """Return a C++ or Rust name as written in the source, the latter if c++filt is installed; other
    names unchanged."""
    if not name.startswith(("_Z", "_R")):
        return name
    if name not in _demangled:
        _demangled[name] = _of_rust(name) if _RUST.fullmatch(name) else _demangle(name)
    return _demangled[name]


def _of_rust(name: str) -> str:
    answer = tool.call(["c++filt"], name, seconds=5)
    return _of_type(_HASH.sub("", answer.output.strip())) if answer.status == 0 else name


def _of_type(name: str) -> str:
    """Return a method's name with its type in front, instead of `<Type as Trait>`."""
    depth = 0
    for position, letter in enumerate(name if name.startswith("<") else ""):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if depth == 0:
            kind = name[1:position].partition(" as ")[0]
            return kind.removeprefix("&").removeprefix("mut ") + name[position + 1 :]
    return name


_demangled: dict[str, str] = {}
_runtime: list[ctypes.CDLL] = []


def _demangle(name: str) -> str:
    if not _runtime:
        try:
            _runtime.append(ctypes.CDLL("libstdc++.so.6"))
        except OSError:
            return name
    demangle = _runtime[0].__cxa_demangle
    demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    result = demangle(name.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not result:
        return name
    text = ctypes.string_at(result).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(result))
    return text
