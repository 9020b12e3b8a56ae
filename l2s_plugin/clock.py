"""What the times of an instance mean on a clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from l2s_plugin.errors import L2SError, unknown_name

UNITS = ("seconds", "minutes", "hours", "days")


@dataclass(frozen=True)
class Clock:
    """Time 0 is at `start`, and one unit of time lasts a second, a minute, an hour or a day.

    >>> Clock(datetime(2026, 11, 23, 6), "minutes").text(90)
    '2026-11-23T07:30'
    """

    start: datetime
    unit: str = "minutes"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise unknown_name("unit of time", str(self.unit), UNITS)

    @classmethod
    def of(cls, start: str, unit: str = "minutes") -> Clock:
        """The clock that begins at a time such as 2026-11-23T06:00."""
        return cls(_moment(start), unit)

    def at(self, time: int) -> datetime:
        """The moment of a time."""
        try:
            return self.start + int(time) * timedelta(**{self.unit: 1})
        except OverflowError:
            raise L2SError(f"{time} {self.unit} after {self.start.isoformat()} are beyond the calendar") from None

    def text(self, time: int) -> str:
        """The moment of a time as 2026-11-23T07:30, with seconds where the unit or the start asks for them."""
        if self.start.microsecond:
            return self.at(time).isoformat()
        return self.at(time).isoformat(timespec="seconds" if self.unit == "seconds" or self.start.second else "minutes")

    def time(self, text: str) -> int:
        """The time of a moment; one that lies between two units is refused."""
        try:
            units, rest = divmod(_moment(text) - self.start, timedelta(**{self.unit: 1}))
        except TypeError:
            raise L2SError(f"{text} and {self.start.isoformat()}: expected both with a time zone, or none") from None
        if rest:
            raise L2SError(f"{text} is no whole number of {self.unit} after {self.start.isoformat()}")
        return units


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise L2SError(f"{text!r} is no time, expected one such as 2026-11-23T06:00") from None
