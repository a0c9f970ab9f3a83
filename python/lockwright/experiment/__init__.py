"""Experiments: contenders that run in rounds in each of several cells, and the report on them.

An experiment is declared as an `Experiment`; `carry_out` makes its runs, `conduct` does that for a
command, with its tables and files. How to add one: docs/experiments.md.
"""

from lockwright.experiment.columns import Column, TableOf
from lockwright.experiment.declaration import Experiment
from lockwright.experiment.model import (
    FAILED,
    FINISHED,
    LEFT_OUT,
    TIMEOUT,
    Cell,
    Contender,
    Figure,
    Outcome,
    Relative,
    Run,
    Runs,
)
from lockwright.experiment.session import carry_out
from lockwright.experiment.summary import Summary

__all__ = [
    "FAILED",
    "FINISHED",
    "LEFT_OUT",
    "TIMEOUT",
    "Cell",
    "Column",
    "Contender",
    "Experiment",
    "Figure",
    "Outcome",
    "Relative",
    "Run",
    "Runs",
    "Summary",
    "TableOf",
    "carry_out",
]
