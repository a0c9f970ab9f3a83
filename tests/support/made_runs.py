"""Made-up runs of comparisons."""

from typing import Any

from lockwright.compare.plan import cell_name
from lockwright.compare.runner import VALUE
from lockwright.experiment import FINISHED, TIMEOUT, Run
from lockwright.experiment.model import Slot


def made_run(
    lock: str,
    number: int,
    value: float | None,
    *,
    threads: int = 0,
    ended: str | None = None,
    wall: float = 1.0,
    others: float | None = 0.0,
    note: str = "",
    started: str = "",
    **details: Any,
) -> Run:
    """Return a run. number: of its round; ended: by default FINISHED with a value, TIMEOUT
    without."""
    known: dict[str, Any] = {"user": 1.0, "system": 0.0, "voluntary": 0, "involuntary": 0}
    known |= {"others": others, "status": 0, "meters": {}, **details}
    return Run(
        ended or (TIMEOUT if value is None else FINISHED),
        wall,
        {} if value is None else {VALUE: value},
        note,
        known,
        Slot(cell_name(threads), lock, number),
        started,
    )
