"""The one decorator for compiled code, and where its compiled form is kept.

numba decides by the file of a function alone whether a cached compilation is still valid; an edit to a function it
calls from another file would go unnoticed. So each file's kernels are kept in a folder named after the contents of the
file and of all kernel files it imports. numba also trusts its cache: here every file carries a checksum, and one that
is damaged or cannot be written costs a line and a compilation. `L2S_CACHE_DIR` moves the cache.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba  # type: ignore[import-untyped, unused-ignore]
from numba.core.caching import NullCache  # type: ignore[import-untyped, unused-ignore]
from numba.core.ccallback import CFunc  # type: ignore[import-untyped, unused-ignore]
from numba.core.compiler import CompileResult  # type: ignore[import-untyped, unused-ignore]
from numba.core.serialize import dumps  # type: ignore[import-untyped, unused-ignore]
from numba.core.sigutils import normalize_signature  # type: ignore[import-untyped, unused-ignore]

from l2s_plugin import kernels
from l2s_plugin.errors import L2SError
from l2s_plugin.files import write_bytes

_numba: Any = numba.config

Function = TypeVar("Function", bound=Callable[..., Any])

# no reference counts: kernels do not allocate, and counting references to their arguments took two thirds of the time
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}

_IMPORT = re.compile(rb"^\s*from ((?:l2s_plugin|heuristics)[\w.]*) import (\([^)]*\)|[^\n]*)", re.M)
_MARK = b"kernels.compile import"
_HERE = Path(__file__).parent  # constants of kernels count as well
_ROOT = _HERE.parents[1]  # of all our packages
_KEEP_DAYS = 30
_DIGEST = hashlib.sha256().digest_size


def kernel(function: Function) -> Function:
    """Compile `function` on first call, without the GIL; cached on disk across processes."""
    return _with_cache(function, numba.njit(**_OPTIONS)(function))


def kernel_pointer(signature: Any) -> Callable[[Function], Function]:
    """Compile a function that loops receive as an argument, at once, as a pointer of the given signature.

    A loop that takes the jitted function itself is compiled anew for each function and never found in the cache;
    one that takes a pointer is compiled once for all (the call costs a few nanoseconds).
    """

    def decorate(function: Function) -> Function:
        if _numba.DISABLE_JIT:  # which numba.cfunc does not heed
            return function
        pointer = _with_cache(function, CFunc(function, normalize_signature(signature), {}, _OPTIONS))
        pointer.compile()
        return pointer

    return decorate


def _with_cache(function: Callable[..., Any], compiled: Any) -> Any:
    folder = cache_folder(function.__code__.co_filename)
    if folder is not None:
        compiled._cache = _Cache(function, folder)
    return compiled


class _Cache(NullCache):  # type: ignore[misc, unused-ignore]
    """The compiled forms of one function: a file for each signature, processor and version, behind a checksum."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._function, self._folder = function, folder

    def _file(self, signature: Any, codegen: Any) -> Path:
        variables = dumps(tuple(cell.cell_contents for cell in self._function.__closure__ or ()))
        key = repr((signature, codegen.magic_tuple(), variables, numba.__version__, sys.version))
        name = re.sub(r"\W", "", self._function.__qualname__)
        return self._folder / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """What was kept; None where there is nothing, or nothing that can be used."""
        target_context.refresh()
        file = self._file(signature, target_context.codegen())
        try:
            content = file.read_bytes()
            if content[:_DIGEST] != _checksum(file, content[_DIGEST:]):
                raise ValueError("damaged")
            return CompileResult._rebuild(target_context, *pickle.loads(content[_DIGEST:]))
        except FileNotFoundError:
            if not kernels.quiet:
                _say("compiling the search kernels, once; this takes some seconds ...")
        except Exception:  # whatever numba makes of the files of another system
            _say(f"compiled kernels in {self._folder.parent} are damaged; compiling them anew ...")
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compilation, where that is possible."""
        if result.library.has_dynamic_globals:  # addresses, which mean nothing to another process
            return
        payload = dumps(result._reduce())
        file = self._file(signature, result.library.codegen)
        try:
            write_bytes(file, _checksum(file, payload) + payload)
        except L2SError as error:
            _say_lost(self._folder.parent, getattr(error.__cause__, "strerror", None))


def _checksum(file: Path, payload: bytes) -> bytes:
    """Of the contents under this name: files that were swapped are damaged, too."""
    return hashlib.sha256(file.name.encode() + payload).digest()


@cache
def cache_folder(source: str) -> Path | None:
    """Where the compiled kernels of a file are kept; None where nothing can be."""
    base = _base_folder()
    if base is None or not os.path.isfile(source):  # typed into an interpreter: nothing to recognise it by
        return None
    contents = b"".join(_read(path) for path in sorted(_kernel_files(Path(source), set())))
    folder = base / f"kernels-{hashlib.sha256(contents).hexdigest()[:16]}"
    if not folder.is_dir():
        with suppress(OSError):  # said when something is to be kept there; others may clean up at the same time
            folder.mkdir(exist_ok=True)
            for old in base.glob("kernels-*"):
                if time.time() - old.stat().st_mtime > _KEEP_DAYS * 86400:
                    shutil.rmtree(old, ignore_errors=True)
    return folder


@cache
def _base_folder() -> Path | None:
    """The cache of this user; None, with one line on stderr, where there can be none.

    Its files are code that will be run: nobody else may have written them.
    """
    if _numba.DISABLE_JIT:
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    base = Path(os.environ.get("L2S_CACHE_DIR") or os.path.join(home, "l2s-plugin"))
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = base.stat()
    except OSError as error:
        _say_lost(base, error.strerror)
        return None
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        _say_lost(base, "others may write there" if status.st_uid == os.geteuid() else "it belongs to somebody else")
        return None
    return base


@cache
def _say(line: str) -> None:
    """One line on standard error, once."""
    with suppress(OSError):
        if sys.stderr is not None:
            print(f"l2s: {line}", file=sys.stderr, flush=True)


def _say_lost(base: Path, reason: str | None) -> None:
    _say(
        f"cannot keep compiled kernels in {base} ({reason}); compiling anew in every process. "
        "Set L2S_CACHE_DIR to a folder that only you can write to."
    )


def _kernel_files(source: Path, seen: set[Path]) -> set[Path]:
    """Add to `seen`, and return, a file and the kernel files that it imports, directly or not."""
    seen.add(source)
    for module, names in _IMPORT.findall(_read(source)):
        for name in ("", *re.findall(r"\w+", names.decode())):
            stem = _ROOT.joinpath(*module.decode().split("."), name)
            for path in (stem.with_suffix(".py"), stem / "__init__.py"):
                if path not in seen and path.is_file() and (path.parent == _HERE or _MARK in _read(path)):
                    _kernel_files(path, seen)
    return seen


@cache
def _read(path: Path) -> bytes:
    return path.read_bytes()
