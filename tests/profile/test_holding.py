"""The time for which a mutex was held, estimated from samples."""

from pathlib import Path

import numpy as np
import pytest
from lockwright.preload.layouts import layouts
from support import buffer_reader, locate


def test_a_mutex_is_held_for_the_run_at_most(tmp_path: Path) -> None:
    """Samples of few holds, one of them preempted, stand for more time than there was."""
    path = tmp_path / "buffer"
    buffer_reader.write(path)
    rows = np.fromfile(path, layouts(locate.preload_dir()).dtype("profile_buffer"))
    rows[0]["records"]["held"][:3] = 3 * 10**9
    rows.tofile(path)
    profile = buffer_reader.read(path)
    shares = [
        each.holding.total / each.instances / profile.process.duration for each in profile.mutexes
    ]
    assert max(shares) == pytest.approx(1, abs=1e-6)
