"""What every package may use: errors, files, the terminal, numbers as text."""
