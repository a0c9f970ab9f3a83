"""Statistics on plain numbers, without files, processes or screens."""
