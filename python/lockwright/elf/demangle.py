"""The demangler of C++ names."""

import ctypes


def demangled(name: str) -> str:
    """Return a C++ name as written in the source; other names unchanged."""
    if not name.startswith("_Z"):
        return name
    if name not in _demangled:
        _demangled[name] = _demangle(name)
    return _demangled[name]


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
