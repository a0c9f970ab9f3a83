"""Functions of libraries that take a mutex, or initialise one, for who calls them."""

import re

_CXX = (
    "mutex|recursive_mutex|timed_mutex|recursive_timed_mutex|shared_mutex|shared_timed_mutex"
    "|__mutex_base|__recursive_mutex_base|__timed_mutex_impl|__shared_mutex_pthread"
    "|__shared_mutex_cv|__condvar|unique_lock|shared_lock|lock_guard|scoped_lock|lock|try_lock"
    "|__detail::__lock_impl|__detail::__try_lock_impl|__try_to_lock|condition_variable"
    "|condition_variable_any|_V2::condition_variable_any"
)
_BOOST = (
    "mutex|recursive_mutex|timed_mutex|recursive_timed_mutex|shared_mutex|unique_lock|lock_guard"
    "|shared_lock|condition_variable|posix::pthread_mutex_lock|posix::pthread_mutex_scoped_lock"
)
_KNOWN = re.compile(
    rf"std::(__\d+::|__cxx11::)?({_CXX})(::.*)?"
    rf"|boost::({_BOOST})(::.*)?"
    r"|__gthread_\w+|__gthrw_\w+"
    r"|_*interceptor_\w+|_?_?pthread_\w+|mtx_\w+|cnd_\w+"
    r"|g_(rec_)?mutex_\w+|g_cond_\w+|apr_thread_mutex_\w+|apr_thread_cond_\w+"
    r"|uv_mutex_\w+|uv_cond_\w+|SDL_(Try)?LockMutex|SDL_CreateMutex"
)


_CLONE = re.compile(r"( \[clone [^]]*\]|\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*)+$")


def function(symbol: str) -> str:
    """A symbol without the parameters of the function, and without what the compiler calls a part
    or a special form of it."""
    symbol = _CLONE.sub("", symbol)
    name = symbol.removesuffix(" const")
    if not name.endswith(")"):
        return symbol
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if depth == 0:
            # An operator that has no parameters in its name is no name without what it calls.
            return symbol if name[:at].endswith("operator") else name[:at]
    return symbol


LONG = 60
"""Letters from which on a name is shown without what its templates are made of."""

_TAG = re.compile(r"\[abi:\w+\]")
_COMPARES = re.compile(r"\boperator\s*[-<>]")
_LAMBDA = re.compile(r"\{lambda\([^{}]*\)(#\d+)\}")


def brief(symbol: str) -> str:
    """A function as a person would say it: `function`, and of one with a long name no arguments of
    templates, nor the parameters of lambdas."""
    name = _TAG.sub("", function(symbol))
    if len(name) <= LONG:
        return name
    name = _without_arguments(name, "<>")
    while (shorter := _LAMBDA.sub(r"{lambda\1}", name)) != name:
        name = shorter
    return name


def is_known(symbol: str) -> bool:
    """Whether it is such a function of a standard library or of another that many use."""
    plain = _without_arguments(function(symbol))
    words = plain.split()
    return bool(words) and _KNOWN.fullmatch(words[-1]) is not None


def _without_arguments(name: str, instead: str = "") -> str:
    """With that in the place of each < and > and what stands between them."""
    if _COMPARES.search(name):
        return name
    kept: list[str] = []
    depth = 0
    for letter in name:
        if letter == "<":
            depth += 1
        elif letter == ">" and depth > 0:
            depth -= 1
            kept += instead if depth == 0 else ""
        elif depth == 0:
            kept.append(letter)
    return "".join(kept)
