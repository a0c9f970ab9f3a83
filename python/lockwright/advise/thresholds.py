"""The thresholds of the rules, with their reasons. Shares are from 0 to 1.

TOCS 2019 is Guerraoui et al., Lock-Unlock: Is That All?, ACM TOCS 36(1), 2019.
"""

LOST = 0.05
"""Share lost by waiting of the time in which threads ran or waited. A program that loses less can
gain less than the 5 % within which two locks count as equal (TOCS 2019)."""

LONG_SECTION = 10_000
"""Least mean length in ns of a long section: a handover between running threads, at most about a
microsecond, is less than a tenth of it."""

SHORT_READ = 1_000
"""Median length in ns of sections from which on readers should share a lock: a reader changes the
lock's word twice, at up to about 100 ns each when the cache line moves."""

BUSY = 0.95
"""Share of processors that had a thread to run, on average: above it, a waiting thread leaves its
processor to another, and the loss of throughput is within the margin of 5 %, or by parking and
unparking."""

SLEEPS = 30_000
"""Acquisitions that have to wait, per second of processor time: at 2,100 cycles to park and 2,700
to unpark another thread (Falsafi et al., Unlocking Energy, USENIX ATC 2016, figure 6), 1.6 us at
3 GHz, 5 % of it."""

HIGH = 10 / 63
"""Share of waiters in the threads that could wait for a mutex. The papers' bands are 10 to 40
waiters (TOCS 2019) on 64 processors with a thread each, of which one holds the mutex."""

EXTREME = 40 / 63
"""The upper end of the band that begins at HIGH."""

TRIES_PER_ENTRY = 1.0
"""Failed trylocks per acquisition: above it, threads call trylock in a loop."""

FAILED_TRIES = 100_000
"""Failed trylocks per second of processor time: at about 60 to 220 cycles each (TOCS 2019),
1 % of it."""

ACQUISITIONS = 1_000_000
"""Acquisitions per second of processor time. A light and a heavy lock differ by about 150 cycles
(TOCS 2019: 40 against 190), 50 ns at 3 GHz: at this rate, 5 % of the time."""

IMMEDIATE = 0.95
"""Share of acquisitions that find the mutex free."""

RUNNABLE = 1.25
"""Runnable threads per processor: a quarter more than one, because an average of samples has an
error."""

SPARE_THREADS = 1.5
"""Excess of threads over processors, used where the runnable threads are not known. The thread that
started the others and waits for them does not count."""

INVOLUNTARY = 20
"""Preemptions per second of processor time. A scheduler that has to share a processor switches
every 1 to 4 ms, 250 or more times."""

PREEMPTED = 0.05
"""Share of the run in which preempted threads held contended mutexes, summed over the mutexes."""

RARE_WAITS = 1_000
"""Acquisitions that have to wait, per second of processor time, below which parking and unparking
take less than 5 % of it even at 50 us each, see BLOCKING."""

BLOCKING = 1_000
"""Blocking calls per second and processor: with about 50 us to wake a parked thread, 5 % of the
time."""

WAITS_PER_ENTRY = 0.1
"""Least number of waits on condition variables per acquisition of a mutex used to block."""

INSTANCES = 2_000
"""Number of mutexes at one time: the fewest that the papers call many are fmm's 2 K (TOCS 2019),
which at the 128 to 256 bytes of a heavy lock exceed half a second-level cache."""

ONE_CREATOR = 0.9
"""Share of the mutexes that one thread created."""

EARLY = 0.5
"""Share of the mutexes that were created in the first tenth of the run."""

RWLOCK_CALLS = 10_000
"""Least number of acquisitions of reader-writer locks per second of processor time at which the
advice mentions them: at about a microsecond each under contention, 1 % of the time."""

FAULT_NS = 1_000
"""Processor time of the first touch of a page, in ns, with the clearing of its 4 KiB: about 500 on
a physical machine, and 1,650 in the virtual machine where it was measured."""

FAULT_TIME = 0.01
"""Share of page faults in the processor time."""

CREATIONS = 1_000
"""Mutexes created per second of the run."""

KERNEL_TIME = 0.2
"""Share of the kernel in the processor time. dedup spends 30 % in the fault handler under the best
locks, and 80 % under the worst (TOCS 2019)."""

CALLS_BESIDE_MEMORY = 10_000
"""Acquisitions per second of processor time below which no lock adds relevant memory traffic: a
contended one moves a few cache lines, about a microsecond, or 1 % at this rate."""

ONE_SECTION = 0.5
"""Share of the sections in the time in which threads are active: above it an operation is about one
section."""
