"""Skeletons with the estimates of an application's throughputs: see similar.py."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from msgspec.structs import replace

from lockwright.predict.skeletons import fitting
from lockwright.predict.skeletons.similar import Tables, Throughputs, estimate
from lockwright.simulate.model import Estimate, Model, Operation

WEIGHT = 1.0
"""Exponent of the simulated change from the machine of the estimates to another one."""


def modelled(
    models: Mapping[str, Model], frame: pd.DataFrame, processors: int
) -> dict[str, Throughputs]:
    """Return the operations per second of each model by lock.

    frame: the lines of a predicted study with one run of each at one number of nodes. A lock
    without a section has a tenth of the slowest other one."""
    found: dict[str, Throughputs] = {}
    for name, lines in frame.groupby("application"):
        operation = models[str(name)].operation or Operation()
        sections = dict(zip(lines.lock, lines.sections_per_second.astype(float), strict=True))
        rates = [rate for rate in sections.values() if rate > 0]
        if rates:
            least = min(rates) * fitting.NO_OPERATION
            found[str(name)] = {
                str(lock): operation.rate(rate if rate > 0 else least, processors)
                for lock, rate in sections.items()
            }
    return found


def scaled(model: Model, published: Throughputs, rates: Throughputs, known: Sequence[str]) -> Model:
    """Return the model of a profile with the operation whose throughput has the published geometric
    mean over the known locks. rates: its sections per second."""
    ratios = [rates[lock] / published[lock] for lock in known]
    return replace(
        model, operation=Operation(float(np.exp(np.log(ratios).mean()))), fitted_locks=tuple(known)
    )


def corrected(
    models: Mapping[str, Model],
    tables: Tables,
    rates: Mapping[str, Throughputs],
    machine: str,
) -> dict[str, Model]:
    """Return the models with estimates under the locks that were published of other applications.

    tables: of all applications of `models`, and others. rates: of `modelled`. machine: the name of
    that of both.
    """
    found = {}
    for name, model in models.items():
        own = rates.get(name, {})
        throughputs = {
            lock: (value, own[lock])
            for lock, value in estimate(name, tables, model.fitted_locks).items()
            if lock in own
        }
        nodes = int(tables[name].index[-1])
        about = Estimate(machine, nodes, WEIGHT, throughputs)
        found[name] = replace(model, estimate=about if throughputs else None)
    return found
