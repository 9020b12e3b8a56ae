"""The one decorator for compiled code, and where its compiled form is kept.

numba decides by the file of a function alone whether a cached compilation is still valid; an edit to a function it
calls from another file would go unnoticed. So each file's kernels are kept in a folder named after the contents of the
file and of all kernel files it imports. `L2S_CACHE_DIR` moves the cache; where it cannot be written, everything still
works and compiles anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numba  # type: ignore[import-untyped, unused-ignore]
from numba.core import event as numba_events  # type: ignore[import-untyped, unused-ignore]

_numba: Any = numba.config

Function = TypeVar("Function", bound=Callable[..., Any])

# no reference counts: kernels do not allocate, and counting references to their arguments took two thirds of the time
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}

_IMPORT = re.compile(rb"^\s*from ((?:l2s_plugin|heuristics)[\w.]*) import (\([^)]*\)|[^\n]*)", re.M)
_MARK = b"kernels.compile import"
_KEEP_DAYS = 30
_PACKAGES = ("l2s_plugin", "heuristics")


def kernel(function: Function) -> Function:
    """Compile `function` on first call, without the GIL; cached on disk across processes."""
    return _with_cache(function, lambda keep: numba.njit(cache=keep, **_OPTIONS)(function))


def kernel_pointer(signature: Any) -> Callable[[Function], Function]:
    """Compile a function that loops receive as an argument, at once, as a pointer of the given signature.

    A loop that takes the jitted function itself is compiled anew for each function and never found in the cache;
    one that takes a pointer is compiled once for all (the call costs a few nanoseconds).
    """

    def decorate(function: Function) -> Function:
        if _numba.DISABLE_JIT:  # which numba.cfunc does not heed
            return function
        return _with_cache(function, lambda keep: numba.cfunc(signature, cache=keep, **_OPTIONS)(function))

    return decorate


def _with_cache(function: Callable[..., Any], build: Callable[[bool], Any]) -> Any:
    folder = cache_folder(function.__code__.co_filename)
    if folder is None:
        return build(False)
    before = _numba.CACHE_DIR
    _numba.CACHE_DIR = str(folder)  # read by numba while the function is decorated
    try:
        return build(True)
    finally:
        _numba.CACHE_DIR = before


@cache
def cache_folder(source: str) -> Path | None:
    """Where the compiled kernels of a file are kept; None where nothing can be written."""
    base = _base_folder()
    if base is None or not os.path.isfile(source):  # typed into an interpreter: nothing to recognise it by
        return None
    folder = base / f"kernels-{_fingerprint(Path(source))}"
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        for old in base.glob("kernels-*"):
            if time.time() - old.stat().st_mtime > _KEEP_DAYS * 86400:
                shutil.rmtree(old, ignore_errors=True)
    return folder


@cache
def _base_folder() -> Path | None:
    """The cache of this user; None, with one line on stderr, where it cannot be written."""
    if _numba.DISABLE_JIT:
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    base = Path(os.environ.get("L2S_CACHE_DIR") or os.path.join(home, "l2s-plugin"))
    try:
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=base):
            pass
    except OSError as error:
        print(
            f"l2s: cannot keep compiled kernels in {base} ({error.strerror}); compiling anew in every process. "
            "Set L2S_CACHE_DIR to a writable folder.",
            file=sys.stderr,
        )
        return None
    return base


@cache
def announce_compilation() -> None:
    """From now on, say so when one of our kernels is not found in the cache and has to be compiled; once.

    Files in the cache prove nothing: they may come from another Python, another folder or another numba.
    """
    if _base_folder() is not None:
        numba_events.register("numba:run_pass", _Announcement())


class _Announcement(numba_events.Listener):  # type: ignore[misc, unused-ignore]
    """Hears of every pass of numba's compiler, and speaks at the first that works on one of our kernels."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:
        if not self._said and event.data["module"].partition(".")[0] in _PACKAGES:
            self._said = True
            print("l2s: compiling the search kernels, once; this takes some seconds ...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


def _fingerprint(source: Path) -> str:
    """Hash of a file and of the kernel files it imports, directly or not."""
    digest = hashlib.sha256()
    for path in sorted({source, *_kernel_files(source, set())}):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _kernel_files(source: Path, seen: set[Path]) -> Iterator[Path]:
    for module, names in _IMPORT.findall(_read(source)):
        words = re.findall(r"\w+", names.decode())
        for name in (module.decode(), *(f"{module.decode()}.{word}" for word in words)):
            path = _module_file(name)
            if path is not None and path not in seen and _MARK in _read(path):
                seen.add(path)
                yield path
                yield from _kernel_files(path, seen)


@cache
def _read(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _module_file(name: str) -> Path | None:
    """The source of one of our modules, without importing it."""
    package = name.partition(".")[0]
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    stem = Path(spec.origin).parent.joinpath(*name.split(".")[1:])
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None
