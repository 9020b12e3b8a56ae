"""Excel workbooks whose first sheet has one row an operation: see `l2s_plugin.formats.table` for the columns.

`openpyxl` is imported on first use (extra `xlsx`).
"""

from __future__ import annotations

import io
import warnings
import zipfile
from datetime import datetime
from importlib import import_module
from typing import Any

from l2s_plugin.errors import missing_extra
from l2s_plugin.formats.parsing import fail
from l2s_plugin.formats.table import Cells, Failure, read_table, table_of
from l2s_plugin.instance import Instance

_LARGEST = 2**28  # bytes of a workbook once it is unpacked
_WIDEST = 40  # characters of a column


class Xlsx:
    """A table with one row an operation, as the first sheet of an Excel workbook."""

    name = "xlsx"
    suffixes = (".xlsx",)
    expects = "an Excel workbook with the columns job, machine and duration"

    def detect(self, data: bytes, source: str) -> bool:
        return data.startswith(b"PK") and b"xl/workbook.xml" in data

    def read(self, data: bytes, source: str) -> Instance:
        return read_table(sheet_cells(data, source), source)

    def write(self, instance: Instance) -> bytes:
        return xlsx_bytes(table_of(instance, self.name))


def sheet_cells(data: bytes, source: str, failure: Failure = fail) -> list[Cells]:
    """The rows of the first sheet, every cell as text."""
    openpyxl = check_openpyxl()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > _LARGEST:
            raise ValueError(f"{size} bytes unpacked")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(data), data_only=True, read_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what a file says about its size may be wrong
        rows = sheet.iter_rows(values_only=True)
        return [(line, [_text(cell) for cell in row]) for line, row in enumerate(rows, 1)]
    except Exception as error:  # the parsers of archives and XML let out whatever the damage leads to
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:100]
        raise failure(source, 1, f"damaged workbook ({reason}), expected an Excel .xlsx file") from error


def xlsx_bytes(table: list[list[Any]]) -> bytes:
    """A workbook with one sheet that holds the table; names stay text, whatever they look like."""
    openpyxl = check_openpyxl()
    book = openpyxl.Workbook(write_only=True)  # rows go out one by one, which is faster
    sheet = book.create_sheet()
    sheet.freeze_panes = "A2"
    for number, column in enumerate(zip(*table, strict=True), 1):  # dates in narrow columns are shown as ####
        letter = openpyxl.utils.get_column_letter(number)
        sheet.column_dimensions[letter].width = min(max(len(str(value)) for value in column) + 2, _WIDEST)

    def cell(value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith("="):
            return None if value == "" else value
        text = openpyxl.cell.WriteOnlyCell(sheet, value)
        text.data_type = "s"  # no formula
        return text

    for row in table:
        sheet.append([cell(value) for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _text(value: Any) -> str:
    """A cell as it would stand in a CSV file; 3.0 is how spreadsheets may keep 3."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def check_openpyxl() -> Any:
    """The package; raises `MissingExtraError` where it is not installed."""
    try:
        return import_module("openpyxl")
    except ModuleNotFoundError as error:
        raise missing_extra("openpyxl", "xlsx") from error
