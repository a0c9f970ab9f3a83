"""The subcommands of `lockwright`: modules and packages with a click command named `command`."""
