"""Make Debian packages of the wheels' files.

liblockwright0 has the libraries, in the folder of the system's own, lockwright the command,
liblockwright-dev the headers, and lockwright-lab the laboratory. The dates in the packages are
SOURCE_DATE_EPOCH; DEBEMAIL is the maintainer's address.
"""

import email.parser
import email.utils
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MAINTAINER = f"Lockwright contributors <{os.environ.get('DEBEMAIL', 'lockwright@example.org')}>"
LIBRARIES, COMMAND, HEADERS = "liblockwright0", "lockwright", "liblockwright-dev"
LABORATORY = "lockwright-lab"
PYTHON = "usr/lib/python3/dist-packages"
"""Where Debian's Python looks for modules."""

# Version numbers of these packages begin with an epoch.
EPOCHS = {"numpy": "1:"}

MSGSPEC = "0.22.0"
"""The version for the Pythons of BUNDLED."""

BUNDLED = ("3.11", "3.12")
"""Pythons of Debian 12 and Ubuntu 24.04, which have no python3-msgspec: the command's package has
it in the folder of modules for that Python alone, where no other package puts it."""

SUMMARIES = {
    LIBRARIES: (
        "mutex algorithms to preload under unmodified programs",
        "LD_PRELOAD=liblockwright.so replaces the locks of a program by ones that adapt to its"
        " load; each other library has the mutexes of one algorithm.",
    ),
    COMMAND: (
        "find the best mutex algorithm for an unmodified program",
        "The command runs a program under other mutex algorithms, compares them, and reports which"
        " of the program's mutexes cost time.",
    ),
    HEADERS: (
        "mutex algorithms as C++20 headers",
        "The target lockwright::lockwright for CMake and lockwright for pkg-config find them.",
    ),
    LABORATORY: (
        "study mutex algorithms over programs and machines",
        "It adds commands to lockwright that measure, torture and check the algorithms, and that"
        " run and analyse studies.",
    ),
}

OVERRIDES = {
    LIBRARIES: f"""# The libraries are preloaded; no program is linked with them.
{LIBRARIES}: sharedobject-in-library-directory-missing-soname
""",
    COMMAND: f"""# For versions of Python that have no package of it.
{COMMAND}: python-module-in-wrong-location usr/lib/python3.1*/dist-packages/msgspec -> *
""",
}
"""What lintian is not to report, with the reasons."""


class Wheel(NamedTuple):
    """An unpacked wheel. depends: its Python packages as Debian's; libc: the least version."""

    folder: Path
    version: str
    architecture: str
    triplet: str
    libc: str
    depends: list[str]

    @property
    def package(self) -> Path:
        return self.folder / "lockwright"

    @property
    def share(self) -> Path:
        return self.folder / f"lockwright-{self.version}.data/data/share"


def extract(file: Path, folder: Path) -> None:
    """Extract a wheel with the permissions of its files."""
    with zipfile.ZipFile(file) as archive:
        for each in archive.infolist():
            path = Path(archive.extract(each, folder))
            path.chmod(0o755 if path.is_dir() or each.external_attr >> 16 & 0o100 else 0o644)


def unpack(directory: Path, folder: Path) -> Wheel:
    """Unpack the wheels of this project in a directory, both into one folder."""
    [file] = directory.glob("lockwright-*.whl")
    [laboratory] = directory.glob("lockwright_lab-*.whl")
    extract(file, folder)
    extract(laboratory, folder)
    match = re.search(r"-([0-9.]+)-py3-none-manylinux_([0-9]+)_([0-9]+)_(\w+)\.whl$", file.name)
    assert match is not None, file
    version, major, minor, machine = match.groups()
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
    metadata = folder / f"lockwright-{version}.dist-info/METADATA"
    lines = email.parser.Parser().parsestr(metadata.read_text()).get_all("Requires-Dist") or []
    depends = []
    for line in lines:
        # A requirement of an optional group has a condition after a semicolon.
        if found := re.fullmatch(r"([a-z0-9]+)>=([0-9.]+)", line):
            name, least = found.groups()
            depends.append(f"python3-{name} (>= {EPOCHS.get(name, '')}{least})")
            if name == "msgspec":
                depends[-1] += f" | python3 (<< 3.{int(BUNDLED[-1][2:]) + 1})"
    triplet = f"{machine}-linux-gnu"
    return Wheel(folder, version, architecture, triplet, f"{major}.{minor}", depends)


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder; the folders of `target` need not exist."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


def link(path: Path, target: str) -> None:
    """Make a symbolic link. target: relative to the folder of `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def lay_out_libraries(wheel: Wheel, root: Path) -> None:
    """Put the libraries where the linker looks, and all other files of lib/ below lockwright/."""
    public = root / "usr/lib" / wheel.triplet
    copy(wheel.package / "lib", public / "lockwright")
    for library in sorted((public / "lockwright").glob("*.so")):
        library.rename(public / library.name)
        link(library, f"../{library.name}")


def lay_out_headers(wheel: Wheel, root: Path) -> None:
    """Put the headers and what finds them in place."""
    copy(wheel.package / "include/lockwright", root / "usr/include/lockwright")
    copy(wheel.package / "share", root / "usr/share")


def lay_out_metadata(wheel: Wheel, root: Path, module: str) -> None:
    """Put the version and the entry points in place; the list of files is dpkg's."""
    metadata = f"{module}-{wheel.version}.dist-info"
    for name in ("METADATA", "entry_points.txt"):
        copy(wheel.folder / metadata / name, root / PYTHON / metadata / name)


def lay_out_manual(share: Path, root: Path) -> None:
    """Put the man pages in place."""
    for page in (share / "man/man1").iterdir():
        write_compressed(root / "usr/share/man/man1" / f"{page.name}.gz", page.read_text())


def lay_out_laboratory(wheel: Wheel, root: Path) -> None:
    """Put the package of the laboratory in place."""
    package = root / PYTHON / "lockwright_lab"
    copy(wheel.folder / "lockwright_lab", package)
    shutil.rmtree(package / "bin")
    copy(wheel.folder / "lockwright_lab/bin", root / "usr/libexec/lockwright-lab")
    link(package / "bin", "../../../../libexec/lockwright-lab")
    lay_out_metadata(wheel, root, "lockwright_lab")
    lay_out_manual(wheel.folder / f"lockwright_lab-{wheel.version}.data/data/share", root)


def lay_out_command(wheel: Wheel, root: Path) -> None:
    """Put the Python package in place, with links to the files of the other packages."""
    package = root / PYTHON / "lockwright"
    copy(wheel.package, package)
    for name in ("lib", "bin", "include", "share"):
        shutil.rmtree(package / name)
    copy(wheel.package / "bin", root / "usr/libexec/lockwright")
    link(package / "lib", f"../../../{wheel.triplet}/lockwright")
    link(package / "bin", "../../../../libexec/lockwright")
    link(package / "include/lockwright", "../../../../../include/lockwright")
    lay_out_metadata(wheel, root, "lockwright")
    start = root / "usr/bin/lockwright"
    start.parent.mkdir(parents=True)
    start.write_text(
        "#!/usr/bin/python3\nimport sys\n\nfrom lockwright.start import main\n\nsys.exit(main())\n"
    )
    start.chmod(0o755)
    copy(wheel.share / "bash-completion", root / "usr/share/bash-completion")
    copy(wheel.share / "fish", root / "usr/share/fish")
    # Debian's zsh looks there for the functions of packages.
    copy(wheel.share / "zsh/site-functions", root / "usr/share/zsh/vendor-completions")
    lay_out_manual(wheel.share, root)
    lay_out_msgspec(wheel, root)


def lay_out_msgspec(wheel: Wheel, root: Path) -> None:
    """Put msgspec in place for the Pythons of BUNDLED."""
    platform = f"manylinux2014_{wheel.triplet.partition('-')[0]}"
    for version in BUNDLED:
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder]
            pip += ["--only-binary=:all:", "--platform", platform, "--python-version", version]
            subprocess.run([*pip, f"msgspec=={MSGSPEC}"], check=True)
            [file] = Path(folder).glob("*.whl")
            extract(file, Path(folder) / "files")
            copy(
                Path(folder) / "files/msgspec",
                root / f"usr/lib/python{version}/dist-packages/msgspec",
            )
            [terms] = Path(folder).glob("files/*.dist-info/**/LICENSE")
            copy(terms, root / "usr/share/doc" / COMMAND / "copyright.msgspec")


def write_compressed(path: Path, text: str) -> None:
    """Write a file with gzip, without a date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def write_documents(wheel: Wheel, root: Path, name: str) -> None:
    """Write the licence and the change log of a package."""
    folder = root / "usr/share/doc" / name
    terms = (ROOT / "LICENSE").read_text().split("\n\n", 2)
    body = "\n".join(f" {line}" if line else " ." for line in terms[2].rstrip().splitlines())
    date = email.utils.formatdate(float(os.environ["SOURCE_DATE_EPOCH"]))
    entry = f"lockwright ({wheel.version}) unstable; urgency=medium\n\n  * See the repository."
    write_compressed(folder / "changelog.gz", f"{entry}\n\n -- {MAINTAINER}  {date}\n")
    (folder / "copyright").write_text(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: lockwright\n\n"
        f"Files: *\nCopyright: {terms[1].removeprefix('Copyright (c) ')}\nLicense: Expat\n{body}\n"
    )


def fields(wheel: Wheel, name: str) -> dict[str, str]:
    """Return the fields of the package's control file that differ between packages."""
    libc, same = f"libc6 (>= {wheel.libc})", f"(= {wheel.version})"
    if name == LIBRARIES:
        return {
            "Architecture": wheel.architecture,
            "Multi-Arch": "same",
            "Section": "libs",
            "Depends": libc,
        }
    if name == HEADERS:
        return {"Architecture": "all", "Multi-Arch": "foreign", "Section": "libdevel"}
    depends = [libc, "libgcc-s1", "libstdc++6 (>= 11)"]
    if name == COMMAND:
        packages = [f"{LIBRARIES} {same}", f"{HEADERS} {same}"]
        depends = [*packages, "python3 (>= 3.11)", *wheel.depends, *depends]
    else:
        depends = [f"{COMMAND} {same}", "python3 (>= 3.11)", *depends]
    return {
        "Architecture": wheel.architecture,
        "Section": "utils",
        "Depends": ", ".join(depends),
        "Recommends": "g++",
    }


def write_control(wheel: Wheel, root: Path, name: str) -> None:
    """Write the control file, the digests and the scripts of a package whose files are in place."""
    paths = sorted(path for path in root.rglob("*") if path.is_symlink() or path.is_file())
    files = [path for path in paths if not path.is_symlink()]
    title, text = SUMMARIES[name]
    control = {
        "Package": name,
        **({} if name == COMMAND else {"Source": "lockwright"}),
        "Version": wheel.version,
        "Maintainer": MAINTAINER,
        "Priority": "optional",
        "Installed-Size": str(-(-sum(path.stat().st_size for path in files) // 1024)),
        **fields(wheel, name),
        "Description": "\n ".join([title, *textwrap.wrap(text, 76)]),
    }
    folder = root / "DEBIAN"
    folder.mkdir()
    (folder / "control").write_text("".join(f"{key}: {value}\n" for key, value in control.items()))
    digests = [(hashlib.md5(path.read_bytes()).hexdigest(), path) for path in files]
    (folder / "md5sums").write_text(
        "".join(f"{digest}  {path.relative_to(root)}\n" for digest, path in digests)
    )
    if name in (COMMAND, LABORATORY):
        # The compiled modules are made at the installation and removed with the package.
        for script, condition, action in (
            ("postinst", '"$1" = configure', "py3compile"),
            ("prerm", '"$1" != failed-upgrade', "py3clean"),
        ):
            present = f'[ -z "$DPKG_ROOT" ] && [ {condition} ] && command -v {action} >/dev/null'
            lines = ["#!/bin/sh", "set -e", f"if {present}; then", f"    {action} -p {name}", "fi"]
            (folder / script).write_text("\n".join(lines) + "\n")
            (folder / script).chmod(0o755)


def strip(root: Path) -> None:
    """Remove what a debugger alone reads from programs and libraries."""
    elf = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    elf = [path for path in elf if path.read_bytes()[:4] == b"\x7fELF"]
    if elf:
        subprocess.run(["strip", "--strip-unneeded", *elf], check=True)


def main(directory: Path, target: Path) -> None:
    """Write the packages of the wheels in a directory into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    parts = {
        LIBRARIES: lay_out_libraries,
        COMMAND: lay_out_command,
        HEADERS: lay_out_headers,
        LABORATORY: lay_out_laboratory,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = unpack(directory, folder / "wheel")
        for package, lay_out in parts.items():
            root = folder / package
            root.mkdir()
            lay_out(wheel, root)
            if package in OVERRIDES:
                overrides = root / "usr/share/lintian/overrides" / package
                overrides.parent.mkdir(parents=True)
                overrides.write_text(OVERRIDES[package])
            strip(root)
            write_documents(wheel, root, package)
            write_control(wheel, root, package)
            subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, target], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
