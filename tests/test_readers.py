"""Every reader answers damaged input with one line."""

import pytest

from tests.mutations import attack, readers

pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore")
def test_damaged_files_are_answered_with_one_line_by_every_reader(tmp_path):
    """A small budget of what `benchmarks/fuzz_readers.py` does with a large one."""
    for reader in readers(tmp_path):
        counts = attack(reader, 120, seed=0)
        assert not counts["failures"], (reader.name, counts["failures"][0])
        assert counts["refused"]
