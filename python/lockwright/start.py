"""Where the command begins. Ctrl-C is heeded also while the rest of it is read."""

import signal


def main() -> int:
    """Runs the command line and returns its exit status."""
    try:
        from lockwright import cli

        return cli.main()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
