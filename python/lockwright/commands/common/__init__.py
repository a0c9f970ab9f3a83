"""What several subcommands have in common."""
