"""Whether the locks that `lockwright advise` names harm: `lockwright bench advice`."""
