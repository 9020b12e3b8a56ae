"""CSV tables with one row an operation: see `l2s_plugin.formats.table` for the columns.

Comma or semicolon, whichever the header has; UTF-8 with or without a byte order mark; cells may be quoted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from l2s_plugin.errors import InstanceFormatError
from l2s_plugin.formats.parsing import decode, detected_text, fail
from l2s_plugin.formats.table import REQUIRED, Cells, Failure, read_table, table_of
from l2s_plugin.instance import Instance


class Csv:
    """A table with one row an operation, as text."""

    name = "csv"
    suffixes = (".csv",)
    expects = "a table with the columns job, machine and duration"

    def detect(self, data: bytes, source: str) -> bool:
        """Whether the first line that is not blank has the required columns; of a .csv file, any columns."""
        header = detected_text(data).partition("\n")[0]
        try:
            cells = next(iter_cells(header, source))[1]
        except (InstanceFormatError, StopIteration):
            return False
        words = source.lower().endswith(self.suffixes) and not any(cell.isdecimal() for cell in cells)
        return {*REQUIRED} <= {cell.lower() for cell in cells} or (words and len(cells) > 1)

    def read(self, data: bytes, source: str) -> Instance:
        return read_table(iter_cells(decode(data, source), source), source)

    def write(self, instance: Instance) -> bytes:
        return csv_bytes(table_of(instance, self.name))


def iter_cells(text: str, source: str, failure: Failure = fail) -> Iterator[Cells]:
    """The rows of a CSV text with the line each begins on."""
    header = text.strip().partition("\n")[0]
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=";" if header.count(";") > header.count(",") else ",", strict=True
    )
    line = 1
    try:
        for row in reader:
            yield line, [cell.strip() for cell in row]
            line = reader.line_num + 1
    except csv.Error as error:
        raise failure(source, line, f"damaged CSV ({error}), expected cells in quotes or without them") from error


def csv_bytes(table: list[list[Any]]) -> bytes:
    """A table as UTF-8 text with commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue().encode(errors="backslashreplace")
