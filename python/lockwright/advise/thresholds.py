"""Where each rule draws its line, and why there. Shares are from 0 to 1.

TOCS 2019 is Guerraoui et al., Lock-Unlock: Is That All?, ACM TOCS 36(1), 2019.
"""

LOST = 0.05
"""Time lost waiting, of the time in which threads ran or waited. If nobody ever waited, a program
that loses less would gain less than the 5 % within which two locks count as equal (TOCS 2019)."""

BUSY = 0.95
"""Of the processors, those that had a thread to run, on average: with more, a thread that waits
leaves its processor to another, and no throughput is lost but within the margin of 5 %, and what it
takes to put threads to sleep and to wake them."""

SLEEPS = 30_000
"""Acquisitions that have to wait, for each second of processor time: at 2,100 cycles to fall asleep
and 2,700 to wake another (Falsafi et al., Unlocking Energy, USENIX ATC 2016, figure 6), 1.6 us at
3 GHz, 5 % of it."""

HIGH = 10 / 63
"""Of the threads that could stand in line at a mutex, those that do. The papers' bands are 10 to 40
waiters (TOCS 2019) on 64 processors with a thread each, of which one holds the mutex."""

EXTREME = 40 / 63
"""See HIGH."""

TRIES_PER_ENTRY = 1.0
"""Failed trylocks for each acquisition: with more, threads try in a loop."""

FAILED_TRIES = 100_000
"""Failed trylocks for each second of processor time: at about 60 to 220 cycles each (TOCS 2019),
1 % of it."""

ACQUISITIONS = 1_000_000
"""For each second of processor time. Between a light and a heavy lock lie about 150 cycles (TOCS
2019: 40 against 190), 50 ns at 3 GHz: at this rate, 5 % of the time."""

IMMEDIATE = 0.95
"""Acquisitions that find the mutex free, of all."""

RUNNABLE = 1.25
"""Threads that run or are ready to, for each processor: a quarter more than one, because an average
of looks is off by a fraction."""

SPARE_THREADS = 1.5
"""Where that is not known: threads more than processors. The one that started the others and waits
for them does not count."""

INVOLUNTARY = 20
"""Times that a thread lost its processor, for each second of processor time. A scheduler that has
to share a processor switches every 1 to 4 ms, 250 or more times."""

PREEMPTED = 0.05
"""Of the run, the time in which mutexes that others wanted were held by threads that lost their
processor, summed over the mutexes."""

RARE_WAITS = 1_000
"""Acquisitions that have to wait, for each second of processor time, below which sleeping and
waking takes less than 5 % of it even at 50 us each, see BLOCKING."""

BLOCKING = 1_000
"""Blocking calls for each second and processor: with about 50 us to get a sleeper running again,
5 % of the time."""

WAITS_PER_ENTRY = 0.1
"""Waits on condition variables for each acquisition: from here on the mutex serves blocking."""

INSTANCES = 2_000
"""Mutexes at one time: the fewest that the papers call many are fmm's 2 K (TOCS 2019), which with
the 128 to 256 bytes of a heavy lock outgrow half a second-level cache."""

ONE_CREATOR = 0.9
"""Of the mutexes, those that one thread created."""

EARLY = 0.5
"""Of the mutexes, those created in the first tenth of the run."""

RWLOCK_CALLS = 10_000
"""Acquisitions of reader-writer locks for each second of processor time from which on mutexes are
not all that counts: at about a microsecond where threads meet there, 1 % of the time."""

FAULT_NS = 1_000
"""Processor time that the first touch of a page costs, the clearing of its 4 KiB included: about
500 on a machine of its own, and 1,650 in the virtual machine that this was tried on."""

FAULT_TIME = 0.01
"""Page faults, of the processor time."""

CREATIONS = 1_000
"""Mutexes created for each second of the run."""

KERNEL_TIME = 0.2
"""In the kernel, of the processor time. dedup spends 30 % in the fault handler with the locks that
suit it, and 80 % with those that do not (TOCS 2019)."""

CALLS_BESIDE_MEMORY = 10_000
"""Acquisitions for each second of processor time below which no lock adds memory traffic that
counts: a contended one moves a few cache lines, about a microsecond, or 1 % at this rate."""

ONE_SECTION = 0.5
"""Time inside the section, of the time in which threads do something: above it an operation is
about one section."""
