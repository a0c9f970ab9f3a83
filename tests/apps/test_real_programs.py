"""Tests of the output of the distribution's programs under every lock."""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import harness, locate
from support.harness import RunUnder

#: The programs take minutes; only the tests of locks run with four nodes.
SETTINGS = harness.all_settings(most_nodes=2)
FULL = pytest.mark.full("real programs run once each, under the default lock")


def under_each_lock(settings: Sequence[harness.Setting] = SETTINGS) -> pytest.MarkDecorator:
    """Return the parameter `setting`; each test runs at least under the default lock."""
    once = next(setting for setting in settings if locate.traits(setting.lock)["is_default"])
    cases = [
        pytest.param(setting, id=setting.label, marks=[] if setting is once else FULL)
        for setting in settings
    ]
    return pytest.mark.parametrize("setting", cases)


def need(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed; tests/apps/packages.txt names its package")
    return path


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 1.5 MB of compressible text, the same in every run."""
    generator = random.Random(20)
    words = [
        "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=generator.randint(2, 9)))
        for _ in range(4000)
    ]
    path = tmp_path_factory.mktemp("material") / "text"
    with path.open("w") as out:
        size = 0
        while size < 1_500_000:
            line = " ".join(generator.choices(words, k=12)) + "\n"
            out.write(line)
            size += len(line)
    return path


@under_each_lock()
def test_kyoto_cabinet(run_under: RunUnder, setting: harness.Setting) -> None:
    # Two threads use and check a hash table with a mutex for each slot.
    argv = [need("kccachetest"), "wicked", "-th", "2", "-it", "1", "-capcnt", "500", "2000"]
    outcome = run_under(setting, argv).succeeded()
    assert outcome.stdout.rstrip().endswith("ok"), outcome.describe()
    assert "error" not in outcome.stdout + outcome.stderr


#: Programs, their options for compressing with threads and for decompressing, and the suffix.
COMPRESSORS = {
    "xz": (["-1", "-T4", "--block-size=150KiB", "-k"], ["-d", "-T4"], ".xz"),
    "pbzip2": (["-1", "-p4", "-b1", "-k"], ["-d", "-p4"], ".bz2"),
    "pigz": (["-1", "-p", "4", "-b", "32", "-k"], ["-d", "-p", "4"], ".gz"),
    "zstd": (["-1", "-T4", "-B512K", "-q", "-k"], ["-d", "-q"], ".zst"),
}


@pytest.mark.parametrize("program", COMPRESSORS)
@under_each_lock()
def test_round_trip(
    run_under: RunUnder, material: Path, tmp_path: Path, setting: harness.Setting, program: str
) -> None:
    compress, restore, suffix = COMPRESSORS[program]
    text = tmp_path / "text"
    shutil.copy(material, text)
    packed = text.with_name("text" + suffix)
    run_under(setting, [need(program), *compress, text], cwd=tmp_path).succeeded()
    assert packed.stat().st_size < text.stat().st_size
    text.unlink()
    run_under(setting, [need(program), *restore, packed], cwd=tmp_path).succeeded()
    assert text.read_bytes() == material.read_bytes()
