"""The programs have the changes that `scripts/bottleneck_changes.py` compares as options."""

import importlib.util
import re
from types import ModuleType

import pytest
from support import locate
from support.processes import captured


def script() -> ModuleType:
    path = locate.ROOT / "scripts" / "bottleneck_changes.py"
    spec = importlib.util.spec_from_file_location("bottleneck_changes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAMS: dict[str, dict[str, str]] = script().PROGRAMS

OPTIONS = [
    (name, text.format(processors=2)) for name, forms in PROGRAMS.items() for text in forms.values()
]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_a_changed_program_does_its_work(name: str, option: str) -> None:
    done = captured([locate.program("bottlenecks", name), *option.split()])
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"rate: [\d.e+]+\n", done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_option_is_refused(name: str) -> None:
    for words in (["--unknown", "1"], [next(iter(PROGRAMS[name].values())).split()[0]]):
        done = captured([locate.program("bottlenecks", name), *words])
        assert done.returncode == 2
        assert done.stderr.startswith("options, each with a number: --")
