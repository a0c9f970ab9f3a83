"""The subcommands of `lockwright`, a module or package each, with a click command named
`command`."""
