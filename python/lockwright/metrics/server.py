"""An HTTP server that answers the scrapes of Prometheus."""

import http.server
import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.metrics.exposition import CONTENT_TYPE

LOOPBACK = "127.0.0.1"
_PATH = "/metrics"
_LONGEST_REQUEST = 10
"""Seconds after which the connection of a client that sends nothing is closed."""
_PERIOD = 0.5
"""Seconds between two checks for the end of the process."""


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `[HOST:]PORT`; without HOST the loopback. An IPv6 address is in
    brackets. Raises LockwrightError for any other text."""
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if (
        not (port.isascii() and port.isdigit() and int(port) < 1 << 16)
        or (":" in host and not bracketed)
        or any(letter.isspace() for letter in host)
    ):
        raise LockwrightError(
            f"--listen '{text}' is not an address",
            "give a port such as 9464, or HOST:PORT; an IPv6 address in brackets, as [::1]:9464",
        )
    return (host[1:-1] if bracketed else host) or LOOPBACK, int(port)


class Server(http.server.ThreadingHTTPServer):
    """A server with one page, which `text` makes at each request."""

    daemon_threads = True
    allow_reuse_port = False

    def __init__(self, host: str, port: int, text: Callable[[], str]) -> None:
        """Listen. Raises LockwrightError if that is impossible."""
        self.timeout = _PERIOD
        self._text, self._one_at_a_time = text, threading.Lock()
        try:
            kind, _, _, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            self.address_family = kind
            super().__init__((str(address[0]), port), _Handler)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise LockwrightError(
                f"cannot listen on {host} port {port}: {reason}", "choose another address or port"
            ) from error

    def server_bind(self) -> None:
        """Bind without asking a name server for the name of the host."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def url(self) -> str:
        """The address of the page."""
        host, port = self.server_address[:2]
        host = str(host)
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{_PATH}"

    def page(self) -> bytes:
        """Return the page."""
        with self._one_at_a_time:
            return self._text().encode()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a client that has left."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    timeout = _LONGEST_REQUEST

    def version_string(self) -> str:
        """Return a name without the version of Python."""
        return "lockwright"

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != _PATH:
            self.send_error(404, f"the page is {_PATH}")
            return
        try:
            page = self.server.page()
        except LockwrightError as error:  # the process has ended, or runs another program
            self.send_error(503, error.what)
            return
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing about a request."""
