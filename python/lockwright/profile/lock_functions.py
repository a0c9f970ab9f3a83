"""Library functions that lock or initialise a mutex for their callers."""

import re

from lockwright.profile.function_names import function, without_arguments

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


def is_known(symbol: str) -> bool:
    """Return whether a function is of the standard library or of another widely used one."""
    plain = without_arguments(function(symbol))
    words = plain.split()
    return bool(words) and _KNOWN.fullmatch(words[-1]) is not None
