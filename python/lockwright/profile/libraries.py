"""The libraries that wait by futexes of their own, by the functions in their stacks."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lockwright.profile.frames import Frame
from lockwright.profile.function_names import brief, function, without_arguments
from lockwright.profile.lock_functions import is_known
from lockwright.profile.waiting import WaitKind


@dataclass(frozen=True)
class Library:
    """A kind of object of a library. kind: "futex" where the functions do not tell."""

    name: str
    kind: WaitKind

    @property
    def parks_threads(self) -> bool:
        """Whether a thread waits on a word or object of its own, whatever it waits for."""
        return self.kind == "thread" or self.name in _PARKING


_PARKING: Final = (
    "parking_lot",
    "Abseil",
    "gRPC",
    "CPython",
    "Java",
    "PostgreSQL",
    "oneTBB",
    "libstdc++",
)


_TABLE: Final[tuple[tuple[str, str, WaitKind], ...]] = (
    (r"g_cond_\w+", "GLib", "condition"),
    (r"g_(rec_)?mutex_\w+|g_rw_lock_\w+|g_bit_lock\w*|g_pointer_bit_lock\w*", "GLib", "lock"),
    (r"g_once_\w+", "GLib", "once"),
    (r"QSemaphore::.*", "Qt", "semaphore"),
    (r"QWaitCondition\w*::.*", "Qt", "condition"),
    (
        r"Q(Basic|Recursive)?Mutex(Locker)?::.*|Q(ReadWriteLock|ReadLocker|WriteLocker)::.*",
        "Qt",
        "lock",
    ),
    (r"QThread::wait|QThreadPool::waitForDone", "Qt", "join"),
    (r"QtFutex\w*::.*|QFutex\w*::.*", "Qt", "futex"),
    (r"parking_lot::condvar::.*", "parking_lot", "condition"),
    (r"parking_lot::once::.*", "parking_lot", "once"),
    (r"parking_lot(_core)?::.*|lock_api::.*", "parking_lot", "lock"),
    (r"std::sys::.*condvar::.*|std::sync::.*[cC]ondvar::.*", "Rust std", "condition"),
    (r"std::sys::.*(mutex|rwlock)::.*", "Rust std", "lock"),
    (r"std::sys::.*once::.*|std::sync::.*([oO]nce|Lazy)\w*::.*", "Rust std", "once"),
    (
        r"std::sys::.*(thread_parking|thread_parker)::.*|std::thread::.*park\w*",
        "Rust std",
        "thread",
    ),
    (r"std::sync::(poison::)?(mutex|rwlock)::.*", "Rust std", "lock"),
    (r"std::sys::.*(futex_w|thread::).*|std::thread::.*[jJ]oin.*", "Rust std", "futex"),
    (
        r"std::sync::mp[ms]c::.*|std::thread::(scoped|local)::.*|alloc::sync::.*",
        "Rust std",
        "futex",
    ),
    (r"core::ptr::drop_in_place.*|core::(ops|option|result|mem|slice)::.*", "Rust std", "futex"),
    (r"crossbeam_\w+::.*", "crossbeam", "futex"),
    (r"rayon_core::.*", "Rayon", "futex"),
    (r"tokio::.*", "Tokio", "futex"),
    (r"absl::(\w+::)*CondVar::.*", "Abseil", "condition"),
    (r"absl::(\w+::)*\w*(Mutex|MutexLock|SpinLock)(Maybe)?::.*|AbslInternal\w+", "Abseil", "lock"),
    (r"absl::(\w+::)*(synchronization_internal|\w*Waiter).*", "Abseil", "lock"),
    (r"gpr_cv_\w+", "gRPC", "condition"),
    (r"gpr_mu_\w+", "gRPC", "lock"),
    (r"grpc::.*", "gRPC", "futex"),
    (r"folly::.*(Mutex|Lock).*", "Folly", "lock"),
    (r"folly::.*(Baton|Semaphore|Futex).*", "Folly", "semaphore"),
    (r"tbb::(\w+::)*\w*mutex\w*(::.*)?", "oneTBB", "lock"),
    (r"tbb::(\w+::)*concurrent_\w*queue\w*::.*", "oneTBB", "condition"),
    (r"tbb::.*|rml::.*", "oneTBB", "futex"),
    (r"std::(__\w+::)*(counting_semaphore|__atomic_semaphore)\b.*", "libstdc++", "semaphore"),
    (r"std::(__\w+::)*(barrier|latch|__tree_barrier)\b.*", "libstdc++", "barrier"),
    (
        r"std::(__\w+::)*(__(atomic_)?wait\w*|__platform_\w+|__atomic_\w+|atomic\b).*",
        "libstdc++",
        "futex",
    ),
    (
        r"std::j?thread::(join|~jthread)|std::(destroy_at|_Destroy\w*(::\w+)?|vector::~vector)",
        "libstdc++",
        "futex",
    ),
    (r"__cxa_guard_acquire", "libstdc++", "once"),
    (
        r"_?PyMutex_\w+|_PyRWMutex_\w+|_?PyParkingLot_\w+|_PySemaphore_\w+|mutex_lock_\w+"
        r"|(take|drop)_gil|PyCOND_\w+|PyEval_(Restore|Acquire)Thread|PyGILState_Ensure"
        r"|PyThread_acquire_lock\w*|(acquire|rlock|lock)_(timed|PyThread_\w+|acquire)",
        "CPython",
        "lock",
    ),
    (r"ObjectMonitor::wait\b.*", "Java", "condition"),
    (r"os::PlatformMonitor::.*|Monitor::wait_without\w+|MonitorLocker::.*", "Java", "futex"),
    (r"PosixSemaphore::.*", "Java", "futex"),
    (r"ObjectMonitor::.*|ObjectSynchronizer::.*", "Java", "lock"),
    (r"Parker::park|Unsafe_Park", "Java", "thread"),
    (r"PGSemaphoreLock|LWLock\w+", "PostgreSQL", "lock"),
    (r"je_\w+|malloc_mutex_\w+", "jemalloc", "lock"),
    (r"runtime\.(lock2?|lockWithRank\w*)(\.\w+)?", "Go", "lock"),
    (r"runtime\.(note\w+|mPark|stopm|gcstopm|stoplockedm|sysmon)(\.\w+)?", "Go", "thread"),
    (r"runtime\.(futex|mcall|systemstack)\w*(\.\w+)?", "Go", "futex"),
    (r"(GOMP|gomp)_\w*(critical|mutex|atomic)\w*|g?omp_\w*set_\w*lock\w*", "libgomp", "lock"),
    (r"(GOMP|gomp)_\w*barrier\w*", "libgomp", "barrier"),
    (r"(GOMP|gomp)_\w+", "libgomp", "futex"),
)
_LIBRARIES = [(re.compile(pattern), Library(name, kind)) for pattern, name, kind in _TABLE]

_FILES: Final[tuple[tuple[str, Library], ...]] = (
    ("libglib-2.0.", Library("GLib", "lock")),
    ("libQt5Core.", Library("Qt", "futex")),
    ("libQt6Core.", Library("Qt", "futex")),
    ("libtbb", Library("oneTBB", "futex")),
    ("libabsl_", Library("Abseil", "lock")),
    ("libjemalloc.", Library("jemalloc", "lock")),
    ("libgpr.", Library("gRPC", "futex")),
    ("libgrpc", Library("gRPC", "futex")),
    ("libjvm.", Library("Java", "futex")),
    ("libgomp.", Library("libgomp", "futex")),
)
"""What a function without a known name is, by the beginning of its file's name."""

_TRAIT: Final = re.compile(r"<([\w:]+)[^ ]* as .*>(?=::)")


def _plain(symbol: str) -> str:
    """Return a function's name without parameters and template arguments; that of a trait of Rust
    begins with the type."""
    of_trait = _TRAIT.match(symbol)
    name = of_trait[1] + symbol[of_trait.end() :] if of_trait else function(symbol)
    words = without_arguments(name).split()
    return words[-1] if words else ""


def library_of(frame: Frame) -> Library | None:
    """Return the library whose function a frame is in; None if it is another's."""
    return _by_function(frame) or _by_file(frame)


def _by_function(frame: Frame) -> Library | None:
    plain = _plain(frame.symbol)
    return next((library for pattern, library in _LIBRARIES if pattern.fullmatch(plain)), None)


def _by_file(frame: Frame) -> Library | None:
    file = frame.module.rpartition("/")[2]
    return next((library for begin, library in _FILES if file.startswith(begin)), None)


def of(frames: Iterable[Frame]) -> Library | None:
    """Return the library of the outermost of the innermost known functions, which is the one that
    the program called; a function of unknown kind, or known by its file alone, only where there is
    no other."""
    found: Library | None = None
    for frame in frames:
        if (library := library_of(frame)) is None:
            if found is not None:
                break
            continue
        if found is None or (library.kind != "futex" and _by_function(frame) is not None):
            found = library
    return found


def wrapper_count(stack: Sequence[Frame]) -> int:
    """Return the number of innermost frames that are of libraries; the last of a stack never is.
    In a thread of a library's own, only those up to the last function of a lock or condition are,
    or up to the first that has another name, so that the caller tells which thread it is."""
    inner = enumerate(stack[:-1])
    outside = (i for i, x in inner if not is_known(x.symbol) and library_of(x) is None)
    count = next(outside, len(stack) - 1)
    if not _begins_thread(stack[count]):
        return count
    others = [
        i for i in range(count) if not is_known(stack[i].symbol) and not _by_function(stack[i])
    ]
    named = [i for i in others if stack[i].symbol]
    ends = [i for i in range(count) if i not in others]
    return named[0] if named else min(ends[-1] + 1 if ends else 0, max(count - 1, 0))


def _begins_thread(frame: Frame) -> bool:
    """Return whether a frame is of the C library, which calls what a thread does."""
    return frame.module.rpartition("/")[2].startswith(("libc.so.", "libpthread"))


def via(wrappers: Sequence[Frame]) -> str:
    """Return the outermost of a library's functions in parentheses, if it is another than those of
    the lock or condition that it waits for, as one of a queue; else ""."""
    if not wrappers or not wrappers[-1].symbol or library_of(wrappers[-1]) in (None, of(wrappers)):
        return ""
    return f" (via {brief(wrappers[-1].symbol)})"
