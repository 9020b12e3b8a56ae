"""Instance files: the contract of a format, for plugin authors. One module per built-in format follows.

A format is a class without constructor arguments that follows `InstanceFormat`, offered as an `InstanceFormatSpec`.

Reading is by contents, never by the file's name. Every format is asked whether it recognises the file
(`detect`); when exactly one says yes, it reads the file (`read`). None or several is an error, so `detect`
must look for something that no other format has - a marker, a keyword, a magic number - and must say no
when in doubt. It need not be sure that the rest of the file is in order: finding out, and telling the user
the line, is `read`'s part.

`read` raises `InstanceFormatError` with one line "file:line: what is there, expected what" and never repairs,
skips or reinterprets anything: a file that counts machines from 1 in a format that counts from 0 is an error.
`l2s_plugin.formats.parsing` has helpers that keep track of lines.

Writing is by the format's name or by the ending of the file. `write` raises `InstanceFormatError` when the
format cannot hold the instance; what it wrote, `read` gives back as an equal instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from l2s_plugin.instance import Instance


class InstanceFormat(Protocol):
    """How instances are read from and written to files of one kind."""

    name: ClassVar[str]  # as in the spec
    suffixes: ClassVar[tuple[str, ...]]  # file endings that choose it for writing; the longest that fits wins
    expects: ClassVar[str]  # what it looks for, as a phrase for the message that no format recognises a file

    def detect(self, data: bytes, source: str) -> bool:
        """Whether the file is meant to be in this format; must not raise."""
        ...

    def read(self, data: bytes, source: str) -> Instance | list[Instance]:
        """The instance in the file, or a list where one file may hold several; `source` is for messages."""
        ...

    def write(self, instance: Instance) -> bytes:
        """The whole contents of a file that holds `instance`."""
        ...
