"""Options and steps of the commands that predict."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockwright.commands.common import grammar
from lockwright.commands.common.machines import HERE, load_machine, simulations

if TYPE_CHECKING:
    from lockwright.advise import Advice
    from lockwright.predict.show import Header
    from lockwright.profile.record import Profile

_ADVICE_TIMEOUT = 5.0
"""Seconds of each simulation for `lockwright advise`, which answers at once."""


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the machine and the simulations: `machine_name`, `runs`, `seconds`,
    `seed` and `timeout`."""
    options: list[grammar.Decorator] = [
        click.option(
            "--machine",
            "machine_name",
            default=HERE,
            show_default=True,
            metavar="NAME|FILE",
            help="The machine: one of 'lockwright simulate --list', a TOML file, or 'here' for "
            "this one, which is measured at the first use.",
        ),
        grammar.runs(2, of="each simulation, with different seeds"),
        grammar.seconds(
            None, least=0.000001, of=" of simulated time", note="[default: by the model]"
        ),
        grammar.seed(1),
        grammar.timeout(120.0),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def begin(path: Path, machine_name: str, runs: int, seed: int, timeout: float) -> "Header":
    """Return the models of a profile, and the machine. They are compared with the profile if that
    is from this machine and this machine is described. Raises LockwrightError for an insufficient
    profile, and for an unknown machine."""
    from lockwright.calibrate import machine_file
    from lockwright.predict import profiled_machine
    from lockwright.predict.derive import check, derive
    from lockwright.predict.fit import fit, unfitted
    from lockwright.predict.show import Header
    from lockwright.profile import record

    profile = record.read(path)
    check(profile)
    machine = load_machine(machine_name, timeout)
    own = None
    if profiled_machine.is_this(profile) and machine_file.default_path().exists():
        own = profiled_machine.with_wakes(profile, load_machine(HERE, timeout))
        if machine_name == HERE:
            machine = own
    derived = derive(profile, own)
    found = None
    if own is None:
        derived = unfitted(derived)
    else:
        fitted = fit(
            derived,
            own,
            runs,
            seed,
            timeout,
            progress=partial(simulations, what="simulations of the profile"),
        )
        derived, found = fitted.derived, fitted.agreement
    program = Path(profile.command[0]).name if profile.command else "a program"
    return Header(program, machine, derived, found)


def predict_gains(profile: "Profile", advice: "Advice") -> "Advice":
    """Return the advice with the predicted gain of each change on this machine, or with the reason
    why nothing can be predicted."""
    from dataclasses import replace

    from lockwright.advise import Gains
    from lockwright.base.errors import LockwrightError
    from lockwright.calibrate import machine_file
    from lockwright.predict import advised, profiled_machine
    from lockwright.simulate import machine as machines
    from lockwright.simulate.run import program

    if not advice.changes and not advice.shortlist:
        return advice
    try:
        program()
        path = machine_file.default_path()
        if not path.exists():
            raise LockwrightError(
                "this machine is not described ('lockwright calibrate --machine here' does it)", ""
            )
        machine = machines.load(str(path))
    except LockwrightError as error:
        return replace(advice, predicted=Gains(reason=error.what))
    is_own = profiled_machine.is_this(profile)
    return advised.with_gains(profile, advice, machine, is_own, _ADVICE_TIMEOUT, simulations)
