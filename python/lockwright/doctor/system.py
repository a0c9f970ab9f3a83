"""Findings about the platform: kernel, C library, compiler, virtual machine."""

from lockwright.machine.finding import Finding, Subject
from lockwright.machine.procfs import Tree

_NO_RANDOM = 0x0040000
"""ADDR_NO_RANDOMIZE of personality(2)."""

_OLDEST = (2, 34)
"""The oldest glibc that the libraries run on."""

_KERNEL = Subject(
    "kernel",
    "it implements futexes and the scheduler: figures of different kernels are not comparable",
)
_LIBC = Subject(
    "C library",
    "every ratio is relative to its mutex, which differs between versions",
    "measure on a system with glibc 2.34 or later",
)
_COMPILER = Subject(
    "compiler", "it determines the instructions of a lock: figures of another one differ"
)
_RANDOMISATION = Subject(
    "address randomisation",
    "all runs have the same addresses: a chance cache conflict occurs in every run, and more runs "
    "do not average that out (Mytkowicz et al., ASPLOS 2009)",
)
_VIRTUALISATION = Subject("virtualisation", "the processors are the machine's own")
_PRELOADED = Subject(
    "preloaded",
    "in the measured programs it follows the lock's library, and may change their behaviour",
    "unset it, unless it is to be measured",
)


def kernel(tree: Tree) -> Finding:
    """Return the finding about the kernel and its preemption model."""
    release = tree.text("/proc/sys/kernel/osrelease")
    if release is None:
        return _KERNEL.absent(advice="mount /proc", effect="none")
    build = (tree.text("/proc/sys/kernel/version") or "").split()
    kinds = ", ".join(word for word in build if word.startswith("PREEMPT"))
    text = f"{release}{f', {kinds}' if kinds else ''}"
    if "PREEMPT_RT" in kinds:
        return _KERNEL.warn(
            text,
            "its internal locks sleep: waking a thread costs more than in other kernels",
            "use an ordinary kernel, unless this one is to be measured",
        )
    return _KERNEL.ok(text)


def libc(version: str | None) -> Finding:
    """Return the finding about the C library. version: such as `glibc 2.36`, None for others."""
    words = version.split()[-1].split(".")[:2] if version else []
    if not version or tuple(int(word) for word in words if word.isdecimal()) < _OLDEST:
        effect = "the libraries with the locks cannot be loaded"
        return _LIBC.warn(version or "not the GNU C library", effect)
    return _LIBC.ok(version)


def compiler(version: str | None) -> Finding:
    """Return the finding about the compiler of the locks."""
    if not version:
        return _COMPILER.absent("the libraries do not name it", "build Lockwright on this machine")
    return _COMPILER.ok(version)


def randomisation(tree: Tree) -> Finding:
    """Return the finding about random addresses in each run."""
    value = tree.number("/proc/sys/kernel/randomize_va_space")
    if value is None:
        return _RANDOMISATION.absent()
    try:
        disabled = int(tree.text("/proc/self/personality") or "0", 16) & _NO_RANDOM
    except ValueError:
        disabled = 0
    if value == 0:
        return _RANDOMISATION.warn("off", advice="as root, sysctl kernel.randomize_va_space=2")
    if disabled:
        how = "off for this process (setarch -R)"
        return _RANDOMISATION.warn(how, advice="start it without setarch -R")
    effect = "addresses differ from run to run, and chance averages out over several runs"
    return _RANDOMISATION.ok("on" if value == 2 else "on, the heap left out", effect)


def _host(tree: Tree) -> str | None:
    """Return the name of the hypervisor, if known; None on bare metal."""
    maker = tree.text("/sys/class/dmi/id/sys_vendor") or ""
    product = tree.text("/sys/class/dmi/id/product_name") or ""
    named = " ".join(word for word in (maker, product) if word)
    hypervisor = tree.text("/sys/hypervisor/type")
    if hypervisor:
        return hypervisor
    for line in (tree.text("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags" and "hypervisor" in value.split():
            return named or "unnamed hypervisor"
    return None


def _container(tree: Tree) -> str | None:
    if tree.exists("/.dockerenv"):
        return "docker"
    if tree.exists("/run/.containerenv"):
        return "podman"
    for word in (tree.text("/proc/1/environ") or "").split("\0"):
        if word.startswith("container="):
            return word.partition("=")[2]
    return None


def virtualisation(tree: Tree) -> Finding:
    """Return the finding about a virtual machine or a container."""
    host, container = _host(tree), _container(tree)
    around = f", in a container ({container})" if container else ""
    if host is not None:
        return _VIRTUALISATION.warn(
            f"virtual machine ({host}){around}",
            "the host may stop a processor while its thread holds the lock; waking a thread on an "
            "idle processor involves the host, and takes several times as long",
            "compare locks on this machine only, and see 'steal time'; the results do not apply "
            "to bare metal",
        )
    if container:
        effect = "a container itself costs no time; its quota may, see 'cgroup quota'"
        return _VIRTUALISATION.ok(f"none{around}", effect)
    return _VIRTUALISATION.ok("none")


def preloaded(tree: Tree, variable: str | None) -> Finding:
    """Return the finding about other preloaded libraries. variable: LD_PRELOAD."""
    everywhere = " ".join((tree.text("/etc/ld.so.preload") or "").split())
    named = [
        f"{source}: {what}"
        for source, what in (("/etc/ld.so.preload", everywhere), ("LD_PRELOAD", variable))
        if what
    ]
    if named:
        return _PRELOADED.warn("; ".join(named))
    return _PRELOADED.ok("nothing", "no other library comes between a program and the lock")
