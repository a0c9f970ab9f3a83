"""The laboratory's subcommands: modules and packages with a click command named `command`."""
