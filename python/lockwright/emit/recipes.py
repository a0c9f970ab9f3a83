"""The texts of a wrapper script, a systemd drop-in, lines of a Dockerfile and a pod patch."""

import shlex
from dataclasses import replace
from pathlib import Path

from lockwright.emit.library import Library, least_glibc

IN_IMAGES = Path("/opt/lockwright")
"""The directory of the library in a container: one for all architectures, without a space."""

_HIDDEN_BY_SYSTEMD = ("/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/")
"""Directories that ProtectHome= and PrivateTmp= hide (systemd.exec(5))."""


def wrapper(library: Library) -> str:
    """Return a shell script that starts its arguments under the lock."""
    variables = [_appending("LD_PRELOAD", library.entry)]
    if library.search:
        variables.append(_appending("LD_LIBRARY_PATH", library.search))
    variables += [f"{name}={shlex.quote(value)}" for name, value in library.settings.items()]
    return f'#!/bin/sh\n# Runs a program with {library.use}.\n{" ".join(variables)} exec "$@"\n'


def _appending(variable: str, entry: str) -> str:
    return f"{variable}={shlex.quote(entry)}${{{variable}:+:${variable}}}"


def systemd(library: Library, unit: str, preloaded: str = "") -> str:
    """Return a drop-in for a unit. preloaded: the unit's present LD_PRELOAD."""
    words = ":".join(word for word in (library.entry, preloaded) if word)
    variables = {"LD_PRELOAD": words}
    if library.search:
        variables["LD_LIBRARY_PATH"] = library.search
    variables |= library.settings
    lines = [
        f"# Runs {unit} with {library.use}.",
        f"# Save it as /etc/systemd/system/{unit}.d/lockwright.conf, then run:",
        f"# systemctl daemon-reload && systemctl restart {unit}",
    ]
    if str(library.path).startswith(_HIDDEN_BY_SYSTEMD):
        lines.append(
            f"# A unit with ProtectHome= or PrivateTmp= cannot see {library.path.parent}: copy the "
            "library elsewhere, and name it with --library."
        )
    lines.append("[Service]")
    lines += [f"Environment={_systemd_quoted(f'{k}={v}')}" for k, v in variables.items()]
    return "\n".join(lines) + "\n"


def _systemd_quoted(assignment: str) -> str:
    escaped = assignment.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def docker(library: Library) -> str:
    """Return lines for a Dockerfile. The library is copied from the build context."""
    inside = IN_IMAGES / library.path.name
    return (
        f"# Runs each program of an image with {library.use}.\n"
        f"# Before the build: cp {shlex.quote(str(library.path))} .\n"
        f"# {_needs(library)}\n"
        f"COPY {library.path.name} {IN_IMAGES}/\n"
        f"ENV LD_PRELOAD={inside}${{LD_PRELOAD:+:$LD_PRELOAD}}\n"
    ) + "".join(f"ENV {name}={value}\n" for name, value in library.settings.items())


def _needs(library: Library) -> str:
    version = least_glibc(library.path)
    return f"The image needs glibc {version} or later; musl (Alpine) cannot load the library."


def kubernetes(library: Library, container: str, image: str) -> str:
    """Return a patch for a deployment. image: has the library in IN_IMAGES, and `cp`."""
    inside = replace(library, path=IN_IMAGES / library.path.name)
    settings = "".join(
        f"            - name: {name}\n              value: {value}\n"
        for name, value in library.settings.items()
    )
    return f"""\
# Runs the container {container} with {library.use}.
# kubectl patch deployment NAME --patch-file FILE
# An LD_PRELOAD that the container has already has to be appended manually.
# {_needs(library)}
spec:
  template:
    spec:
      initContainers:
        - name: lockwright
          image: {image}
          command: ["cp", "{inside.path}", "/lockwright/"]
          volumeMounts:
            - name: lockwright
              mountPath: /lockwright
      containers:
        - name: {container}
          env:
            - name: LD_PRELOAD
              value: {IN_IMAGES}/{inside.path.name}
{settings}          volumeMounts:
            - name: lockwright
              mountPath: {IN_IMAGES}
              readOnly: true
      volumes:
        - name: lockwright
          emptyDir: {{}}
"""
