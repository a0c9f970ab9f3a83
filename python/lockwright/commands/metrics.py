"""`lockwright metrics`: the waits of running programs, for Prometheus."""

from collections.abc import Callable

import click

from lockwright.commands.common import brief, grammar


@brief.command("metrics")
@grammar.pid("Read this process only.  [default: all that may be examined]")
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    help="Answer HTTP requests for /metrics instead of printing once, until Ctrl-C or the end of "
    "the process of --pid. Without HOST, only this machine can connect.",
)
def command(pid: int | None, listen: str | None) -> None:
    """Print for which mutexes running programs wait, as metrics for Prometheus.

    Reads programs that were started by 'lockwright run --metrics', or with a lock's library and
    LOCKWRIGHT_METRICS=1, from outside: the total time of the waits, and a histogram for each call
    site. Needs the right to trace the process.
    """
    from lockwright.base.errors import warn
    from lockwright.metrics import segment
    from lockwright.metrics.call_sites import CallSites
    from lockwright.metrics.exposition import text_of

    call_sites = CallSites()

    def segments() -> segment.Segments:
        if pid is None:
            return segment.of_all_processes()
        return segment.Segments((segment.examined(pid),), 0)

    if listen is not None:
        _serve(listen, lambda: text_of(segments(), call_sites), pid)
        return
    found = segments()
    click.echo(text_of(found, call_sites), nl=False)
    if not found.read:
        warn("no running program counts its waits; start one with 'lockwright run --metrics'")


def _serve(listen: str, text: Callable[[], str], pid: int | None) -> None:
    """Answer requests until the process ends. Raises KeyboardInterrupt at Ctrl-C."""
    from lockwright.base.errors import warn
    from lockwright.base.process_numbers import is_running
    from lockwright.metrics.server import Server, parse_address

    host, port = parse_address(listen)
    text()
    with Server(host, port, text) as server:
        warn(f"metrics at {server.url}")
        while pid is None or is_running(pid):
            server.handle_request()
    warn(f"process {pid} has ended")
