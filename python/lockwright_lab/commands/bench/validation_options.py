"""Options that the validations have in common: of the simulator, and of predictions."""

from collections.abc import Sequence

from lockwright.commands.common import grammar

from lockwright_lab.commands.common.grammar import shared


def cells_and_parts(threads: Sequence[int], parts: Sequence[str]) -> grammar.Decorator:
    """Add --threads, --parts and --budget."""
    options = (
        grammar.threads(default=",".join(map(str, threads))),
        shared(
            "--parts",
            "Parts to run; the tables include those of earlier calls.",
            default=",".join(parts),
            show_default=True,
        ),
        grammar.budget(
            "none", "Begin no real run after this time; --resume makes the remaining ones."
        ),
    )

    return lambda command: grammar.with_options(command, options)
