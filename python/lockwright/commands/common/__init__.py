"""Options and steps that several subcommands share."""
