"""Shared options of the laboratory's commands."""
