"""The servers of the catalogue: their configuration, when they are ready, how they are ended."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import BinaryIO

from program_inputs import CannotPrepare, administrators, last_lines, run_quietly

APACHE = """
ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
LoadModule mpm_worker_module /usr/lib/apache2/modules/mod_mpm_worker.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
User nobody
Group nogroup
ServerLimit 1
StartServers 1
ThreadLimit 256
ThreadsPerChild {threads}
MaxRequestWorkers {threads}
DocumentRoot {folder}/pages
"""

NGINX = """
daemon off;
master_process off;
user root;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
thread_pool default threads={threads} max_queue=65536;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/nginx.body;
    proxy_temp_path {folder}/nginx.proxy;
    fastcgi_temp_path {folder}/nginx.fastcgi;
    uwsgi_temp_path {folder}/nginx.uwsgi;
    scgi_temp_path {folder}/nginx.scgi;
    server {{
        listen 127.0.0.1:{port};
        aio threads;
        sendfile off;
        root {folder}/pages;
    }}
}}
"""

PATHS = """
local turn = 0
request = function()
  turn = turn + 1
  return wrk.format("GET", "/" .. turn % 50 .. ".html")
end
"""

MARIADB = """
rm -rf servers/my.data
cp -r servers/my.made servers/my.data
exec {prefix} mariadbd --no-defaults --user=root --datadir={folder}/my.data \\
  --socket={folder}/my.socket --pid-file={folder}/my.pid --bind-address=127.0.0.1 --port={port} \\
  --innodb-buffer-pool-size=64M --skip-name-resolve
"""

#: Where a command names the server's port: a place to be filled, or a number that other catalogues
#: have in its stead.
PORT = re.compile(r"\{port\}|\b(?:13306|16379|18081|18082|21211)\b")


def free_port() -> int:
    """One that is free at this moment."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        number: int = listening.getsockname()[1]
        return number


def at_port(command: str, port: int) -> str:
    """The command of a server or of its client for that port."""
    return PORT.sub(str(port), command)


def missing(server: str) -> str:
    """The server's program, if it is not installed; else empty."""
    word = "mariadbd" if "my.sh" in server else server.split("{P} ")[1].split()[0]
    return "" if shutil.which(word, path=administrators()["PATH"]) else word


def prepare(folder: Path, server: str, threads: int, prefix: str, port: int) -> str:
    """Writes what the server reads; returns the command that starts it, for `sh -c` in `folder`."""
    own = folder / "servers"
    pages = own / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    for name in ["index", *map(str, range(50))]:
        (pages / f"{name}.html").write_text(f"page {name}\n" * 200)
    (own / "mpath.lua").write_text(PATHS)
    (own / f"apache.{threads}.conf").write_text(
        APACHE.format(folder=own, threads=threads, port=port)
    )
    (own / "nginx_tp.conf").write_text(NGINX.format(folder=own, threads=threads, port=port))
    if "my.sh" in server:
        _make_database(own)
        return MARIADB.format(folder=own, prefix=prefix, port=port)
    command = at_port(server, port)
    command = command.replace("{P}", prefix).replace("{threads}", str(threads))
    command = re.sub(r"servers/(?=\S*conf\b)", f"{own}/", command)
    return command if "exec " in command else f"exec {command}"


def _make_database(own: Path) -> None:
    """An empty database with the user and the tables of sysbench, made once."""
    made = own / "my.made"
    if made.exists():
        return
    fresh = own / "my.data"
    shutil.rmtree(fresh, ignore_errors=True)
    run_quietly(["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={fresh}"])
    half = own / "my.half"
    shutil.rmtree(half, ignore_errors=True)
    fresh.rename(half)
    script = MARIADB.replace("my.made", "my.half")
    port = free_port()
    server = Server(script.format(folder=own, prefix="env", port=port), own.parent, port)
    try:
        if not server.await_ready(60):
            raise CannotPrepare(f"mariadbd does not start: {server.said()}")
        words = "CREATE DATABASE sbtest; CREATE USER sb@127.0.0.1; GRANT ALL ON *.* TO sb@127.0.0.1"
        client = ["mariadb", "--no-defaults", f"--socket={own}/my.socket", "-e", words]
        run_quietly(client)
        options = "--db-driver=mysql --mysql-host=127.0.0.1 --mysql-user=sb"
        options += f" --mysql-port={port} --mysql-db=sbtest --tables=4 --table-size=2000"
        words = f"sysbench {options} oltp_read_write"
        run_quietly([*words.split(), "prepare"])
    finally:
        server.end(60)
    shutil.rmtree(half)
    fresh.rename(made)


class Server:
    """A server of ours, in a process group of its own."""

    def __init__(self, command: str, folder: Path, port: int) -> None:
        self._port = port
        self._log = folder / "server.log"
        with self._log.open("wb") as log:
            self._start(command, folder, log)

    def _start(self, command: str, folder: Path, log: BinaryIO) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=folder,
            env=administrators(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,
        )

    def said(self) -> str:
        """The last lines of what it printed."""
        return last_lines(self._log)

    def await_ready(self, limit: float) -> bool:
        """False if it ended or does not listen within `limit` seconds."""
        end = time.monotonic() + limit
        while time.monotonic() < end and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
                return True
            time.sleep(0.02)
        return False

    def runs(self) -> bool:
        """Whether it has not ended by itself."""
        return self._process.poll() is None

    def end(self, limit: float) -> bool:
        """Asks it to end; false if it had to be killed, or ended by a fault."""
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return status in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
