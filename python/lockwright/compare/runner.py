"""Makes single runs through the supervisor process, and says in a record what came of each."""

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockwright.base import results
from lockwright.base.numbers import number
from lockwright.compare.plan import Plan, Slot
from lockwright.machine.meters import Meters
from lockwright.preload.counters import VARIABLE
from lockwright.preload.locks import preload
from lockwright.run import record
from lockwright.run.assistant import Assistant
from lockwright.run.record import Record

_SCRIPT = Path(__file__).parents[1] / "run" / "supervisor.py"


@dataclass(frozen=True)
class Answer:
    """What the supervisor tells of a run; the fields of `facts` are described there.

    meters: what was read around it meanwhile.
    """

    facts: dict[str, Any]
    meters: Mapping[str, float] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """`exited`, `timeout`, `flood` or `unstartable`."""
        return str(self.facts["outcome"])

    def problem(self, timeout: float) -> str | None:
        """Why the run cannot count, in words; None if it ended with status 0."""
        about = "the --prepare command: " if self.facts["stage"] == "prepare" else ""
        match self.outcome:
            case "unstartable":
                what = f"cannot be started: {self.facts['reason']}"
            case "timeout":
                what = f"took more than {timeout:g} s"
            case "flood":
                what = "printed more than 1 GiB"
            case _ if self.facts["status"] == 0:
                return None
            case _:
                what = record.describe_status(self.facts["status"])
                if self.facts["last_line"]:
                    what += f": {self.facts['last_line']}"
        return about + what


class Runner:
    """Starts runs one at a time; `close` (or leaving the `with` block) kills what still runs."""

    def __init__(
        self,
        plan: Plan,
        program: Path,
        settings: Mapping[str, dict[str, str]] | None = None,
        meters: Meters | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """program: path of the command's program. settings: variables to set for a lock.

        meters: what is read around each measured run. environment: of the command.
        """
        self._plan = plan
        self._program = program
        self._settings = settings or {}
        self._meters = meters
        self._environment = {k: v for k, v in environment.items() if k != VARIABLE}
        self._supervisor = Assistant(_SCRIPT, "supervises the runs", "repeat with --resume")

    def __enter__(self) -> "Runner":
        """The runner itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def close(self) -> None:
        """Ends the supervisor, which kills a program that still runs, and waits for that."""
        self._supervisor.close()

    def ask(
        self,
        threads: int,
        library: Path,
        extra: dict[str, str] | None = None,
        meters: Meters | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """One run with `library` preloaded and `extra` added to the environment.

        meters: what is read around it, from right before it starts until it has ended. timeout:
        seconds that it may take; None for the plan's.
        """
        environment = preload(library, self._environment, self._program) | (extra or {})
        request = self._request(threads, self._program, self._plan.argv(threads), environment)
        if timeout is not None:
            request["timeout"] = timeout
        request["announce"] = meters is not None
        facts = self._supervisor.ask(request)
        if meters is None or facts.get("event") != "ready":
            return Answer(facts)
        with meters.around(self._supervisor.pid, math.inf) as reading:
            facts = self._supervisor.ask({})
        if facts.get("event") != "ended":
            return Answer(facts)
        facts = self._supervisor.ask(None)
        if meters.counters:
            reading.values["context_switches"] = facts["voluntary"] + facts["involuntary"]
            reading.values["page_faults"] = facts["faults"]
        return Answer(facts, reading.values)

    def ask_through(self, threads: int, words: Sequence[str]) -> Answer:
        """One run of the command by another one that `words` start, to which it is appended."""
        program = shutil.which(words[0]) or words[0]
        argv = [*words, *self._plan.argv(threads)]
        request = self._request(threads, Path(program), argv, self._environment)
        return Answer(self._supervisor.ask(request))

    def _request(
        self, threads: int, program: Path, argv: Sequence[str], environment: Mapping[str, str]
    ) -> dict[str, Any]:
        return {
            "program": str(program),
            "argv": argv,
            "environment": environment,
            "bare_environment": self._environment,
            "prepare": self._plan.preparation(threads),
            "timeout": self._plan.timeout,
            "prepare_timeout": self._plan.timeout,
            "metric": self._plan.metric,
            "announce": False,
        }

    def measure(self, slot: Slot, library: Path, timeout: float | None = None) -> Record:
        """The run that `slot` asks for. timeout: seconds that it may take; None for the plan's."""
        started = results.now()
        extra = self._settings.get(slot.lock)
        answer = self.ask(slot.threads, library, extra, self._meters, timeout)
        facts = answer.facts
        limit = self._plan.timeout if timeout is None or facts["stage"] == "prepare" else timeout
        note = answer.problem(limit) or ""
        value = None
        if answer.outcome == "timeout" and facts["stage"] == "run":
            outcome = record.TIMEOUT
        elif note:
            outcome = record.FAILED
        elif self._plan.metric is None:
            outcome, value = record.FINISHED, float(facts["wall"])
        else:
            value = number(facts["metric"])
            outcome = record.NO_METRIC if value is None else record.FINISHED
            if value is None:
                note = why_no_number(facts["metric"])
        return Record(
            threads=slot.threads,
            round=slot.round,
            lock=slot.lock,
            outcome=outcome,
            value=value,
            wall=facts.get("wall", 0.0),
            user=facts.get("user", 0.0),
            system=facts.get("system", 0.0),
            voluntary=facts.get("voluntary", 0),
            involuntary=facts.get("involuntary", 0),
            others=facts.get("others"),
            status=facts.get("status"),
            note=note,
            started=started,
            meters=answer.meters,
        )


def why_no_number(text: str | None) -> str:
    """Says why `number` found none."""
    if text is None:
        return "its output has no match of --metric"
    return f"--metric matched '{text[:60]}', which is not a number"
