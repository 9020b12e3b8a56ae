"""The one decorator for compiled code, and where its compiled form is kept.

numba decides by the file of a function alone whether a cached compilation is still valid; an edit to a function it
calls from another file would go unnoticed. So the cache lives in a folder named after the contents of *all* our
kernels. `L2S_CACHE_DIR` moves it; where it cannot be written, everything still works and compiles anew.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba  # type: ignore[import-untyped, unused-ignore]

_numba: Any = numba.config

Function = TypeVar("Function", bound=Callable[..., Any])

# no reference counts: kernels do not allocate, and counting references to their arguments took two thirds of the time
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}

_PACKAGES = (Path(__file__).parent.parent, Path(__file__).parent.parent.parent / "heuristics")


def kernel(function: Function) -> Function:
    """Compile `function` on first call, without the GIL; cached on disk across processes."""
    return _with_cache(lambda keep: numba.njit(cache=keep, **_OPTIONS)(function))


def kernel_pointer(signature: Any) -> Callable[[Function], Function]:
    """Compile a function that loops receive as an argument, at once, as a pointer of the given signature.

    A loop that takes the jitted function itself is compiled anew for each function and never found in the cache;
    one that takes a pointer is compiled once for all (the call costs a few nanoseconds).
    """
    return lambda function: _with_cache(lambda keep: numba.cfunc(signature, cache=keep, **_OPTIONS)(function))


def _with_cache(build: Callable[[bool], Any]) -> Any:
    folder = cache_folder()
    if folder is None:
        return build(False)
    before = _numba.CACHE_DIR
    _numba.CACHE_DIR = str(folder)  # read by numba while the function is decorated
    try:
        return build(True)
    finally:
        _numba.CACHE_DIR = before


@cache
def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None, with one line on stderr, where nothing can be written."""
    if _numba.DISABLE_JIT:
        return None
    base = os.environ.get("L2S_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "l2s-plugin"
    )
    folder = Path(base) / f"kernels-{_source_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        print(
            f"l2s: cannot keep compiled kernels in {folder} ({error.strerror}); compiling anew in every process. "
            "Set L2S_CACHE_DIR to a writable folder.",
            file=sys.stderr,
        )
        return None
    return folder


@cache
def announce_compilation() -> None:
    """Say once, before a search, that the first use of the kernels compiles them."""
    folder = cache_folder()
    if folder is not None and not any(folder.rglob("kernels.search_steps*.nbi")):
        print(
            "l2s: compiling the search kernels, once; this takes some seconds ...",
            file=sys.stderr,
            flush=True,
        )


def _source_hash() -> str:
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for source in sorted(package.rglob("*.py")):
            text = source.read_bytes()
            if b"kernels.compile import" in text:
                digest.update(text)
    return digest.hexdigest()[:16]
