"""Optional libraries load on first use, and one line says what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from integrations.libraries import library
from l2s_plugin.errors import L2SError, MissingExtraError

ADAPTERS = ("integrations.cluster", "integrations.job_shop_lib", "integrations.pyjobshop")
LIBRARIES = ("dask", "distributed", "job_shop_lib", "ortools", "pyjobshop", "torch")


def test_adapters_do_not_import_their_libraries():
    program = f"import sys, {', '.join(ADAPTERS)}; print({{*sys.modules}} & {{*{LIBRARIES!r}}})"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_a_missing_library_is_named_with_its_extra():
    with pytest.raises(
        MissingExtraError, match=r"^no_such_module is not installed; run: pip install 'l2s-plugin\[it\]'$"
    ):
        library("no_such_module", "it")


def test_a_broken_library_says_so_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("raise ImportError('libmpi.so:\\n cannot open')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(L2SError, match=r"^broken_library cannot be imported: libmpi.so: cannot open$"):
        library("broken_library", "it")
