"""Instance files: round trips, strict recognition, and errors that name the line."""

import io
import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from l2s_plugin.data import benchmark
from l2s_plugin.errors import InstanceFormatError
from l2s_plugin.formats.job_shop_lib import JobShopLib
from l2s_plugin.formats.l2s_json import L2SJson
from l2s_plugin.formats.npy import Npy
from l2s_plugin.formats.parsing import line_of
from l2s_plugin.formats.standard import Standard
from l2s_plugin.formats.taillard import Taillard
from l2s_plugin.instance import Instance
from tests.strategies import instances

FORMATS = [Standard(), Taillard(), L2SJson(), JobShopLib(), Npy()]
RAGGED = [Standard(), L2SJson(), JobShopLib()]
by_name = pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)


def read_one(format_, data, source="dir/file.x"):
    found = format_.read(data, source)
    if isinstance(found, list):
        (found,) = found
    return found


def recognised_as(data):
    return [format_.name for format_ in FORMATS if format_.detect(data, "file")]


# round trips


@pytest.mark.parametrize("format_", RAGGED, ids=lambda format_: format_.name)
@given(instance=instances())
def test_every_shape_survives_a_round_trip(format_, instance):
    assert read_one(format_, format_.write(instance)) == instance


@by_name
@given(instance=instances(rectangular=True))
def test_rectangles_survive_a_round_trip(format_, instance):
    assert read_one(format_, format_.write(instance)) == instance


@given(instances())
def test_taillards_layout_keeps_re_entrant_jobs_or_refuses(instance):
    if all(len(job) == instance.n_machines for job in instance.jobs()):
        assert read_one(Taillard(), Taillard().write(instance)) == instance
    else:
        with pytest.raises(
            InstanceFormatError, match=r"random: job \d+ has \d+ operations, the taillard format expects"
        ):
            Taillard().write(instance)


@given(instances(rectangular=False))
def test_npy_refuses_what_is_not_rectangular(instance):
    assume(not instance.is_rectangular)
    with pytest.raises(InstanceFormatError, match="random: the npy format expects every job to visit each"):
        Npy().write(instance)


@by_name
@given(instance=instances(rectangular=True))
def test_what_a_format_writes_is_recognised_by_it_alone(format_, instance):
    assert recognised_as(format_.write(instance)) == [format_.name]


@pytest.mark.parametrize("format_", [L2SJson(), JobShopLib(), Taillard()], ids=lambda format_: format_.name)
def test_bounds_survive_where_the_format_has_a_place_for_them(format_):
    for name in ("ta41", "ft06"):
        back = read_one(format_, format_.write(benchmark(name)))
        assert (back.lower_bound, back.upper_bound) == (
            benchmark(name).lower_bound,
            benchmark(name).upper_bound,
        )
    unknown = Instance.from_jobs([[(0, 1)]])
    back = read_one(format_, format_.write(unknown))
    assert (back.lower_bound, back.upper_bound) == (None, None)


@given(
    name=st.text(),
    source=st.text(),
    lower=st.none() | st.integers(0, 9),
    upper=st.none() | st.integers(9, 20),
)
def test_our_json_keeps_everything(name, source, lower, upper):
    details = {"name": name, "source": source, "lower_bound": lower, "upper_bound": upper}
    back = L2SJson().read(L2SJson().write(Instance.from_jobs([[(0, 1)]], **details)), "file")
    assert {key: getattr(back, key) for key in details} == details


@given(name=st.text())
def test_no_name_breaks_the_standard_format(name):
    instance = Instance.from_jobs([[(0, 1), (1, 2)]], name=name)
    assert Standard().read(Standard().write(instance), "file") == instance


def test_files_without_a_name_are_called_after_the_file():
    instance = read_one(Standard(), b"1 1\n0 5\n", "some/where/ta_new.txt")
    assert (instance.name, instance.source) == ("ta_new", "ta_new.txt")


# what is read


def test_standard_reads_jsplib_with_comments_headers_and_blank_lines():
    text = b"""\
+++++++++++++++++++++++++++++
 instance tiny 2x2
# a comment
2\t2\t
 0 5  1 2   # first job

 1 4  0 1
"""
    assert recognised_as(text) == ["standard"]
    assert Standard().read(text, "f").jobs() == [[(0, 5), (1, 2)], [(1, 4), (0, 1)]]


def test_standard_reads_terminated_rows_of_different_length():
    text = b"3 3\n0 5 -1 -1\n1 4 0 1 1 0 2 9 -1  -1\n2 1 0 1 1 1\n"
    instance = Standard().read(text, "f")
    assert instance.jobs() == [[(0, 5)], [(1, 4), (0, 1), (1, 0), (2, 9)], [(2, 1), (0, 1), (1, 1)]]
    assert instance.n_machines == 3


@pytest.mark.parametrize("text", [b"1 1\r\n0 5\r\n", b"1 1\r0 5", b"\xef\xbb\xbf1 1\n0 5"], ids=["dos", "mac", "bom"])
def test_line_ends_and_byte_order_marks_do_not_matter(text):
    assert recognised_as(text) == ["standard"]
    assert Standard().read(text, "f").jobs() == [[(0, 5)]]


TAILLARD = b"""\
Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound
          2           3    840612802    398197754   20    17
Times
 5 2 7
 4 1 9
Machines
 1 2 3
 3 1 2
"""
TAILLARD_JOBS = [[(0, 5), (1, 2), (2, 7)], [(2, 4), (0, 1), (1, 9)]]


def test_taillards_layout_is_times_then_machines_from_one():
    assert recognised_as(TAILLARD) == ["taillard"]
    instance = read_one(Taillard(), TAILLARD)
    assert instance.jobs() == TAILLARD_JOBS
    assert (instance.lower_bound, instance.upper_bound) == (17, 20)


def test_taillards_header_words_seeds_and_bounds_are_optional():
    for header in (b"2 3", b"2 3 11 12", b"words of any kind\n2 3 0 0 0 0"):
        instance = read_one(Taillard(), header + TAILLARD[TAILLARD.index(b"\nTimes") :])
        assert instance.jobs() == TAILLARD_JOBS
        assert (instance.lower_bound, instance.upper_bound) == (None, None)


def test_taillards_files_may_hold_several_instances():
    found = Taillard().read(TAILLARD + TAILLARD, "tai2_3.txt")
    assert [each.name for each in found] == ["tai2_3#0", "tai2_3#1"]
    assert [each.jobs() for each in found] == [TAILLARD_JOBS, TAILLARD_JOBS]


def test_matrices_without_section_words_are_not_taken_for_taillards_layout():
    """Files with machines first and counted from 0 look just like that."""
    data = b"2 3\n5 2 7\n4 1 9\n1 2 3\n3 1 2\n"
    assert recognised_as(data) == ["standard"]
    with pytest.raises(InstanceFormatError, match=r"^f:2: job 0 has 3 numbers, expected 6"):
        Standard().read(data, "f")


def test_job_shop_lib_json_is_read_as_the_package_writes_it():
    document = {
        "name": "x",
        "duration_matrix": [[1, 2], [0]],
        "machines_matrix": [[1, 0], [[1]]],
        "metadata": {"optimum": 3, "reference": "somewhere"},
    }
    instance = JobShopLib().read(json.dumps(document).encode(), "f")
    assert instance.jobs() == [[(1, 1), (0, 2)], [(1, 0)]]
    assert (instance.name, instance.lower_bound, instance.upper_bound) == ("x", 3, 3)


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, np.asarray(array), **options)
    return file.getvalue()


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_npy_machines_count_from_one_or_zero_as_their_permutations_tell(first, dtype):
    array = np.array([[[5, 2, 7], [4, 1, 9]], [[0, 1, 2], [2, 0, 1]]], dtype)
    array[1] += first
    assert read_one(Npy(), npy(array)).jobs() == TAILLARD_JOBS
    assert [each.jobs() for each in Npy().read(npy([array] * 3), "f")] == [TAILLARD_JOBS] * 3
    assert [each.name for each in Npy().read(npy([array] * 2), "d/tai.npy")] == ["tai#0", "tai#1"]


def test_npy_is_written_as_the_authors_publish_durations_first_and_machines_from_one():
    array = np.load(io.BytesIO(Npy().write(benchmark("ft06"))))
    assert array.shape == (2, 6, 6)
    assert array[0, 0].tolist() == [1, 3, 6, 7, 3, 6]
    assert array[1, 0].tolist() == [3, 1, 2, 4, 6, 5]


def test_nothing_recognises_what_is_no_instance():
    for data in (
        b"",
        b"\n",
        b"hello world\n",
        b"{}",
        b"[1, 2]",
        b"\x00\x01\x02",
        b"PK\x03\x04",
        b"1 2 3\n",
        b"\xff\xfe",
    ):
        assert recognised_as(data) == []


# errors, each with its line

STANDARD_ERRORS = {
    "empty": (b"", "1: empty file, expected an instance"),
    "only blanks": (b" \n\n", "1: empty file, expected an instance"),
    "only comments": (b"# a\n# b\n", '1: no numbers, expected a row "jobs machines"'),
    "only words": (b"hello\nworld\n", '2: no numbers, expected a row "jobs machines"'),
    "binary": (b"1 1\n0 \x00\x01", "2: binary file, expected text"),
    "not utf-8": (b"1 1\n\n0 \xff\xfe", "3: not UTF-8 (byte 0xff), expected text in UTF-8"),
    "three sizes": (b"# c\n1 1 1\n0 5\n", '2: 3 numbers, expected two: "jobs machines"'),
    "no jobs": (b"0 1\n", "1: 0 jobs and 1 machines, expected from 1 to 10000000 of each"),
    "absurd size": (b"1 99999999\n", "1: 1 jobs and 99999999 machines, expected from 1"),
    "row too short": (
        b"2 2\n0 1 1 2\n0 1 1\n",
        "3: job 1 has 3 numbers, expected 4 (2 machine-duration pairs)",
    ),
    "row too long": (b"1 2\n0 1 1 2 0 1\n", "2: job 0 has 6 numbers, expected 4"),
    "half a pair": (b"1 2\n0 1 1 -1 -1\n", "2: job 0 has 3 numbers before -1 -1, expected pairs"),
    "nothing before the end": (b"1 2\n-1 -1\n", "2: job 0 has 0 numbers before -1 -1, expected pairs"),
    "too few jobs": (b"3 1\n0 1\n\n0 1\n\n", "4: the file ends after 2 jobs, expected 3"),
    "too many jobs": (b"1 1\n0 1\n0 1\n", "3: text after the last of 1 jobs, expected the end of the file"),
    "trailing rubbish": (
        b"1 1\n0 1\n\nbest 5\n",
        "4: text after the last of 1 jobs, expected the end of the file",
    ),
    "negative duration": (b"1 2\n0 1 1 -5\n", "2: job 0, index 1: duration -5, expected 0 to"),
    "negative machine": (b"1 2\n-2 1 1 5\n", "2: job 0, index 0: machine -2, expected 0 to 1"),
    "inner end mark": (b"1 2\n-1 -1 0 1\n", "2: job 0, index 0: machine -1, expected 0 to 1"),
    "unknown machine": (b"2 2\n0 1 1 1\n0 1 7 1\n", "3: job 1, index 1: machine 7, expected 0 to 1"),
    "from one": (
        b"2 2\n1 5 2 1\n2 1 1 1\n",
        "2: job 0, index 1: machine 2, expected 0 to 1 (this file counts",
    ),
    "word": (b"1 2\n0 1 one 5\n", "2: 'one', expected an integer"),
    "fraction": (b"1 2\n0 1 1 5.5\n", "2: '5.5', expected an integer"),
    "minus inside": (b"1 2\n0 1 1 5-5\n", "2: '5-5', expected an integer"),
    "underscore": (b"1 1\n0 1_0\n", "2: '1_0', expected an integer"),
    "too large": (b"1 1\n0 99999999999999\n", "2: number too large, expected at most 1073741823"),
    "large": (b"1 1\n0 2000000000\n", "2: job 0, index 0: duration 2000000000, expected 0 to 1073741823"),
    "sum too large": (b"1 2\n0 1000000000 1 1000000000\n", "1: total duration 2000000000 is too large"),
}


def taillard(old, new):
    assert TAILLARD.count(old) == 1
    return TAILLARD.replace(old, new)


TAILLARD_ERRORS = {
    "empty": (b"", "1: empty file, expected an instance"),
    "binary": (TAILLARD + b"\0", "9: binary file, expected text"),
    "no numbers": (b"words\n", '1: the file ends, expected a row "jobs machines"'),
    "no size": (b"Times\n1\nMachines\n1\n", "1: 'Times', expected an integer"),
    "three sizes": (
        taillard(b"    840612802    398197754   20    17", b" 5"),
        "2: 3 numbers, expected jobs, machines",
    ),
    "negative seed": (taillard(b"398197754", b"-3"), "2: -3, expected 0 or more"),
    "bounds crossed": (taillard(b"17", b"21"), "2: lower bound 21, expected at most the upper bound 20"),
    "no times": (taillard(b"Times\n", b""), "3: '5 2 7', expected \"Times\""),
    "short row": (taillard(b" 4 1 9", b" 4 1"), "5: job 1 has 2 times, expected 3"),
    "missing row": (taillard(b" 4 1 9\n", b""), "5: 'Machines', expected an integer"),
    "extra row": (taillard(b" 4 1 9", b" 4 1 9\n 1 1 1"), "6: '1 1 1', expected \"Machines\""),
    "long machines": (taillard(b" 3 1 2", b" 3 1 2 1"), "8: job 1 has 4 machines, expected 3"),
    "ends early": (taillard(b" 3 1 2\n", b""), "7: the file ends, expected machines of job 1"),
    "from zero": (taillard(b" 1 2 3", b" 0 1 2"), "7: job 0, index 0: machine 0, expected 1 to 3"),
    "unknown machine": (taillard(b" 3 1 2", b" 4 1 2"), "8: job 1, index 0: machine 4, expected 1 to 3"),
    "negative time": (taillard(b" 4 1 9", b" 4 -1 9"), "5: job 1, index 1: duration -1, expected 0 to"),
    "rubbish": (TAILLARD + b"the end\n", '9: the file ends, expected a row "jobs machines"'),
    "numbers after": (TAILLARD + b"1 2 3\n", "9: 3 numbers, expected jobs, machines"),
}

OURS = """\
{
  "format": "l2s-instance",
  "version": 1,
  "n_machines": 3,
  "lower_bound": 9,
  "jobs": [
    [[0, 5], [1, 2]],
    [
      [2, 4]
    ]
  ]
}
"""


def ours(old, new):
    assert OURS.count(old) == 1
    return OURS.replace(old, new).encode()


OUR_ERRORS = {
    "empty": (b"", "1: empty file, expected an instance"),
    "binary": (b"\n{\0", "2: binary file, expected text"),
    "no object": (b"[]", "1: expected a JSON object"),
    "syntax": (ours("[1, 2]]", "[1, 2]"), "12: not JSON: "),
    "rubbish": (ours("  ]\n}\n", "  ]\n}\nx"), "13: not JSON: Extra data, expected a JSON document"),
    "other format": (
        ours("l2s-instance", "l2s-schedule"),
        "2: format is 'l2s-schedule', expected \"l2s-instance\"",
    ),
    "newer": (ours('"version": 1', '"version": 2'), "3: version 2, expected 1"),
    "no version": (ours('  "version": 1,\n', ""), "1: version is nothing, expected an integer"),
    "unknown key": (
        ours("lower_bound", "lowerbound"),
        "5: unknown key 'lowerbound'; did you mean lower_bound",
    ),
    "machines word": (
        ours('"n_machines": 3', '"n_machines": "3"'),
        '4: n_machines is "3", expected an integer',
    ),
    "no machines": (ours('"n_machines": 3', '"n_machines": 0'), "4: n_machines is 0, expected 1 to"),
    "true": (ours('"lower_bound": 9', '"lower_bound": true'), "5: lower_bound is true, expected an integer"),
    "negative bound": (
        ours('"lower_bound": 9', '"lower_bound": -9'),
        "5: lower bound -9, expected 0 or more",
    ),
    "crossed": (
        ours('9,\n  "jobs', '9, "upper_bound": 8,\n  "jobs'),
        "5: lower bound 9, expected at most the upper",
    ),
    "jobs null": (
        b'{"format": "l2s-instance", "version": 1, "n_machines": 1,\n"jobs": null}',
        "2: jobs is null",
    ),
    "no jobs": (
        b'{"format": "l2s-instance", "version": 1, "n_machines": 1,\n"jobs": []}',
        "2: jobs is [], expected",
    ),
    "empty job": (ours("[[0, 5], [1, 2]]", "[]"), "7: job 0 is [], expected a list that is not empty"),
    "flat job": (ours("[[0, 5], [1, 2]]", "[0, 5]"), "7: job 0, index 0 is 0, expected [machine, duration]"),
    "half a pair": (ours("[2, 4]", "[2]"), "9: job 1, index 0 is [2], expected [machine, duration]"),
    "fraction": (ours("[2, 4]", "[2, 4.0]"), "9: job 1, index 0 is [2, 4.0], expected [machine, duration]"),
    "unknown machine": (ours("[2, 4]", "[3, 4]"), "9: job 1, index 0: machine 3, expected 0 to 2"),
    "negative": (ours("[1, 2]", "[1, -2]"), "7: job 0, index 1: duration -2, expected 0 to"),
    "long number": (ours("[1, 2]", "[1, " + "9" * 5000 + "]"), "1: unreadable JSON"),
    "deep": (b'{"format": "l2s-instance", "jobs": ' + b"[" * 200_000, "1: unreadable JSON"),
}

THEIRS = """\
{"name": "x",
"duration_matrix": [[1, 2],
                    [3]],
"machines_matrix": [[0, 1],
                    [1]],
"metadata": {
  "lower_bound": 3, "upper_bound": 6}}
"""


def theirs(old, new):
    assert THEIRS.count(old) == 1
    return THEIRS.replace(old, new).encode()


THEIR_ERRORS = {
    "empty": (b"", "1: empty file, expected an instance"),
    "syntax": (theirs("[3]],", "[3]"), "4: not JSON: "),
    "no machines": (
        theirs("machines_matrix", "machine_matrix"),
        "1: machines_matrix is nothing, expected a list",
    ),
    "name": (theirs('"x"', "5"), "1: name is 5, expected a string"),
    "no jobs": (
        b'{"duration_matrix": [],\n"machines_matrix": []}',
        "1: duration_matrix is [], expected a list that",
    ),
    "jobs differ": (
        theirs("[1]]", "[1], [0]]"),
        "4: machines_matrix has 3 jobs, expected 2 as in duration_matrix",
    ),
    "row differs": (theirs("[1]]", "[1, 0]]"), "5: job 1 has 2 machines, expected 1 as it has durations"),
    "no row": (theirs("[1]]", "1]"), "5: machines of job 1 is 1, expected a list that is not empty"),
    "flexible": (
        theirs("[1]]", "[[0, 1]]]"),
        "5: job 1, index 0 has 2 machines to choose from, expected one",
    ),
    "fraction": (theirs("[3]]", "[3.5]]"), "3: job 1, index 0: duration is 3.5, expected an integer"),
    "word": (theirs("[1]]", '["1"]]'), '5: job 1, index 0: machine is "1", expected an integer'),
    "negative machine": (theirs("[1]]", "[-1]]"), "5: job 1, index 0: machine -1, expected 0 to"),
    "negative": (theirs("[3]]", "[-3]]"), "3: job 1, index 0: duration -3, expected 0 to"),
    "from one": (theirs("[[0, 1],", "[[1, 2],"), "4: machines 1 to 2, expected machines counted from 0"),
    "stated": (theirs('"lower', '"n_machines": 1, "lower'), "4: job 0, index 1: machine 1, expected 0 to 0"),
    "stated 0": (theirs('"lower', '"n_machines": 0, "lower'), "7: n_machines is 0, expected 1 to"),
    "crossed": (theirs("6}", "2}"), "6: lower bound 3, expected at most the upper bound 2"),
    "bound": (theirs("6}", '"6"}'), '7: upper_bound is "6", expected an integer'),
    "dates": (
        theirs('"metadata"', '"deadlines_matrix": [[9, 9], [9]],\n"metadata"'),
        "6: deadlines_matrix is there",
    ),
}

PAIR = np.array([[[5, 2], [4, 1]], [[1, 2], [2, 1]]])


def pair(*changes):
    array = PAIR.copy()
    for place, value in changes:
        array[place] = value
    return npy(array)


NPY_ERRORS = {
    "empty": (b"", "1: no NumPy header, expected a NumPy .npy file"),
    "text": (b"1 1\n0 5\n", "1: no NumPy header, expected a NumPy .npy file"),
    "cut off": (npy(PAIR)[:-1], "1: damaged NumPy file ("),
    "only a header": (npy(PAIR)[:8], "1: damaged NumPy file ("),
    "rubbish": (npy(PAIR) + b"xyz", "1: 3 bytes after the array, expected the end of the file"),
    "objects": (
        npy(PAIR.astype(object), allow_pickle=True),
        "1: damaged NumPy file (Object arrays cannot be loaded",
    ),
    "fractions": (npy(PAIR / 2), "1: array of float64, expected integers"),
    "flat": (npy([1, 2]), "1: array of shape 2, expected 2 x jobs x machines or n x 2 x jobs x machines"),
    "three matrices": (npy(np.ones((3, 2, 2), int)), "1: array of shape 3x2x2, expected 2 x jobs"),
    "no jobs": (npy(np.ones((2, 0, 2), int)), "1: array of shape 2x0x2, expected 2 x jobs"),
    "machine twice": (
        pair(((1, 1, 0), 1)),
        "1: job 1 has machines [1, 1], expected a permutation of 1 to 2 in every",
    ),
    "mixed base": (
        pair(((1, 1), [0, 1])),
        "1: job 1 has machines [0, 1], expected a permutation of 1 to 2 in every",
    ),
    "from two": (
        npy(PAIR + 1),
        "1: job 0 has machines [2, 3], expected a permutation of 1 to 2 in every job, or of 0",
    ),
    "negative": (pair(((0, 1, 1), -1)), "1: operation 3 (job 1, index 1) has negative duration -1, expected"),
    "in a batch": (npy([PAIR, PAIR * 2]), "1: instance 1, job 0 has machines [2, 4], expected a permutation"),
}


def cases(format_, errors):
    return [pytest.param(format_, *case, id=f"{format_.name}-{name}") for name, case in errors.items()]


@pytest.mark.parametrize(
    ("format_", "data", "message"),
    [
        *cases(Standard(), STANDARD_ERRORS),
        *cases(Taillard(), TAILLARD_ERRORS),
        *cases(L2SJson(), OUR_ERRORS),
        *cases(JobShopLib(), THEIR_ERRORS),
        *cases(Npy(), NPY_ERRORS),
    ],
)
def test_errors_are_one_line_with_file_line_and_expectation(format_, data, message):
    with pytest.raises(InstanceFormatError) as caught:
        format_.read(data, "dir/file.x")
    assert str(caught.value).startswith(f"dir/file.x:{message}")
    assert "\n" not in str(caught.value)
    assert "expected" in str(caught.value) or "too large" in str(caught.value)


@pytest.mark.parametrize(
    ("format_", "errors"),
    [
        (Standard(), STANDARD_ERRORS),
        (L2SJson(), OUR_ERRORS),
        (JobShopLib(), THEIR_ERRORS),
        (Taillard(), TAILLARD_ERRORS),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_damaged_file_is_never_taken_for_another_format(format_, errors):
    for data, _ in errors.values():
        assert set(recognised_as(data)) <= {format_.name}


def complaint(format_, data):
    """What the format says about a file; None where it reads it."""
    try:
        format_.read(data, "f")
    except InstanceFormatError as error:
        return str(error)
    return None


@by_name
@given(data=st.binary(max_size=60) | st.text("0123456789-# \n[]{},\"'xMT", max_size=60).map(str.encode))
def test_rubbish_gives_an_instance_or_one_line_never_a_crash(format_, data):
    message = complaint(format_, data)
    assert message is None or (message.startswith("f:") and "\n" not in message)
    assert format_.detect(data, "f") or message is not None, "read what it does not recognise"


@by_name
@given(instance=instances(rectangular=True), data=st.data())
def test_a_damaged_byte_gives_an_instance_or_one_line_never_a_crash(format_, instance, data):
    whole = format_.write(instance)
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:place] + bytes([data.draw(st.integers(0, 255))]) + whole[place + 1 :]
    message = complaint(format_, damaged)
    assert message is None or (message.startswith("f:") and "\n" not in message)


@given(
    st.recursive(st.integers(), lambda child: st.lists(child) | st.dictionaries(st.text(), child)),
    st.booleans(),
)
def test_line_of_finds_every_part_of_a_document(document, spaced):
    """Indented JSON has one part per line, in the order of a walk over the document."""
    text = json.dumps(document, indent=2)
    if spaced:
        text = text.replace("\n", " \t\n")

    def walk(part, path):
        yield path, part
        children = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, child in children:
            yield from walk(child, [*path, key])

    rows = text.split("\n")
    for path, part in walk(document, []):
        row = rows[line_of(text, path) - 1].strip().rstrip(",")
        value = json.dumps(part)
        assert row.endswith(value if not isinstance(part, list | dict) or not part else value[0])
