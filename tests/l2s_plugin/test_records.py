"""What comes out of the parsers can be shown, counted with and written again; everything else is one line."""

import json
from typing import Any

import pytest

from l2s_plugin.errors import L2SError
from l2s_plugin.records import check, parse_json, parse_toml

UNUSABLE = {
    "digits": "9" * 5000,
    "a number beyond 64 bits": "9" * 20,
    "deep": "[" * 100_000,
    "closed and deep": "[" * 150 + "]" * 150,
    "half a character": r'"\ud800"',
    "a key that is half a character": r'{"\ud800": 1}',
    "a key twice": '{"a": 1, "a": 2}',
    "NaN": "NaN",
    "beyond all floats": "1e999",
    "not JSON": "[1,\n2",
}


@pytest.mark.parametrize("text", UNUSABLE.values(), ids=UNUSABLE)
def test_what_nobody_can_work_with_is_one_line(text):
    for form in (text, text.encode()):
        with pytest.raises(L2SError) as caught:
            parse_json(form, "file.json")
        assert str(caught.value).startswith("file.json:")
        assert len(str(caught.value).splitlines()) == 1
        assert len(str(caught.value)) < 200


def test_what_is_read_is_what_was_written():
    value = {"a": [1, -2.5, None, True, "Ω\n\0"], "b": {"c": [[[]]]}}
    assert parse_json(json.dumps(value), "") == value


@pytest.mark.parametrize(
    "text",
    ["a = " + "9" * 5000, "a = 0x" + "f" * 30, "a = " + "[" * 5000, r'a = "\u0000"', "a = nan", "a = ", "a=1\na=2"],
)
def test_toml_that_nobody_can_work_with_is_one_line(text):
    with pytest.raises(L2SError, match=r"^file\.toml: not TOML") as caught:
        parse_toml(text, "file.toml")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (1, int), (1, float), (1.5, float), ("a", str), (True, bool), (None, None), (None, int | None),
        ([1, 2], list[int]), ([1, 2], tuple[int, ...]), ([1, "a"], tuple[int, str]), ({"a": 1}, dict[str, int]),
        ({"a": 1, "more": 2}, {"a": int}), ([[0.5, 1]], list[tuple[float, int]]), ({"x"}, Any),
    ],
)  # fmt: skip
def test_shapes_that_fit(value, shape):
    assert check(value, shape, "") is value


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        (True, int, "x must be a whole number, got True"),
        (1.0, int, "x must be a whole number, got 1.0"),
        (True, float, "x must be a number, got True"),
        (5, str | None, "x must be text or nothing, got 5"),
        ([1, "a"], list[int], r"x\[1\] must be a whole number, got 'a'"),
        ([1], tuple[int, str], r"x must be a list of 2, got \[1\]"),
        ({"a": []}, {"a": int}, r"x: a must be a whole number, got \[\]"),
        ({}, {"a": int}, "x: a is missing"),
        ([], {"a": int}, r"x must be a table, got \[\]"),
        ({"a": 1}, dict[str, str], "x: a must be text, got 1"),
    ],
)
def test_shapes_that_do_not_fit_are_named(value, shape, message):
    with pytest.raises(L2SError, match=f"^{message}$"):
        check(value, shape, "x")
