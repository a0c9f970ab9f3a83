"""The measurements of `lockwright bench`, a module each."""
