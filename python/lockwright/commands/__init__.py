"""One file per subcommand of `lockwright`, each with a click command named `command`."""
