"""The entry point of the command, which handles Ctrl-C during the imports."""

import signal


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from lockwright import cli

        return cli.main()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
