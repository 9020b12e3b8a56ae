"""`l2s instances`, `l2s generate`, `l2s convert`."""

import json

import pytest
from click.testing import CliRunner

from integrations.cli import l2s
from l2s_plugin import generate as generators
from l2s_plugin.data import benchmark, benchmark_names
from l2s_plugin.errors import InstanceError, InstanceFormatError, UnknownNameError
from l2s_plugin.loader import load

instances, generate, convert = (l2s.get_command(None, name) for name in ("instances", "generate", "convert"))


def run(command, *arguments, **options):
    """Standard output of a command that succeeds; its errors come out as raised."""
    result = CliRunner().invoke(command, arguments, catch_exceptions=False, **options)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_instances_lists_every_benchmark_with_size_bounds_and_status():
    rows = [line.split() for line in run(instances).splitlines()]
    assert rows[0] == ["name", "size", "lower", "upper", "status"]
    assert [row[0] for row in rows[1:]] == benchmark_names()
    assert ["ta41", "30x20", "1926", "2005", "open"] in rows
    assert ["ft06", "6x6", "55", "55", "solved"] in rows


@pytest.mark.parametrize("group", ["ta:30x20", "ta-30x20"])
def test_instances_can_be_filtered_by_set_group_and_name(group):
    rows = run(instances, "ft", group, "la16").splitlines()[1:]
    assert [row.split()[0] for row in rows] == [
        "ft06",
        "ft10",
        "ft20",
        *(f"ta{k}" for k in range(41, 51)),
        "la16",
    ]


def test_instances_json_is_one_document():
    (entry,) = json.loads(run(instances, "--json", "ta41"))
    assert entry == {
        "name": "ta41",
        "set": "ta",
        "size": "30x20",
        "n_jobs": 30,
        "n_machines": 20,
        "lower_bound": 1926,
        "upper_bound": 2005,
        "status": "open",
    }
    assert len(json.loads(run(instances, "--json"))) == 162


def test_instances_of_an_unknown_set_get_close_matches():
    with pytest.raises(UnknownNameError, match=r"unknown instance or set 'taa'; did you mean ta"):
        run(instances, "taa")


def test_generate_prints_the_standard_format(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text(run(generate, "4x3", "--seed", "5"))
    assert load(path) == generators.taillard(4, 3, *generators.taillard_seeds(5))


def test_generate_reproduces_ta01_from_its_seeds(tmp_path):
    path = tmp_path / "ta01.json"
    run(generate, "15x15", "--time-seed", "840612802", "--machine-seed", "398197754", "--output", str(path))
    assert load(path) == benchmark("ta01")


def test_generate_uniform_is_the_papers_generator(tmp_path):
    path = tmp_path / "u.npy"
    run(generate, "4X3", "--distribution", "uniform", "--seed", "7", "-o", str(path))
    assert load(path) == generators.uniform(4, 3, 7)
    run(generate, "4x3", "--distribution", "uniform", "--stages", "2", "-o", str(path))
    assert load(path) == generators.uniform(4, 3, 0, stages=2)


def test_generate_without_a_seed_gives_the_same_every_time():
    assert run(generate, "3x3") == run(generate, "3x3", "--seed", "0") != run(generate, "3x3", "--seed", "1")


def test_generate_takes_the_format_by_name():
    assert json.loads(run(generate, "2x2", "--format", "l2s-json"))["format"] == "l2s-instance"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ten"], "'ten', expected jobs x machines such as 10x10"),
        (["10"], "'10', expected jobs x machines"),
        (["2x2", "--time-seed", "5"], "--time-seed and --machine-seed belong together"),
        (["2x2", "--time-seed", "5", "--machine-seed", "5", "--seed", "1"], "go without --seed"),
        (
            ["2x2", "--time-seed", "5", "--machine-seed", "5", "--distribution", "uniform"],
            "with Taillard only",
        ),
        (["2x2", "--stages", "2"], "--stages goes with --distribution uniform"),
        (["2x2", "--seed", "-1"], "-1 is not in the range"),
        (["2x2", "--distribution", "normal"], "'normal' is not one of"),
    ],
)
def test_generate_refuses_contradictions_as_bad_usage(arguments, message):
    result = CliRunner().invoke(generate, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_generate_refuses_impossible_sizes():
    with pytest.raises(InstanceError, match="cannot generate 0x3"):
        run(generate, "0x3")
    with pytest.raises(InstanceError, match="time_seed is 0"):
        run(generate, "3x3", "--time-seed", "0", "--machine-seed", "1")


def test_convert_goes_through_every_format_unchanged(tmp_path):
    source = "la01"
    for ending in (".txt", ".tai", ".npy", ".jsl.json", ".json"):
        target = str(tmp_path / f"x{ending}")
        assert run(convert, source, target) == ""
        source = target
    assert load(source) == benchmark("la01")


def test_convert_reads_and_writes_standard_streams():
    text = run(convert, "ft06", "-")
    assert text.splitlines()[:3] == ["# ft06", "# lower bound 55, upper bound 55", "6 6"]
    back = json.loads(run(convert, "-", "-", "--from", "standard", "--to", "l2s-json", input=text))
    assert back["jobs"] == [[list(pair) for pair in job] for job in benchmark("ft06").jobs()]


def test_convert_explains_bad_files_and_unknown_formats(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("1 1\n1 5\n")
    with pytest.raises(InstanceFormatError, match=r"bad\.txt:2: job 0, index 0: machine 1, expected 0 to 0"):
        run(convert, str(path), "-")
    with pytest.raises(UnknownNameError, match="unknown instance format 'jsplib'"):
        run(convert, "ft06", "-", "--to", "jsplib")
    with pytest.raises(InstanceFormatError, match="no format has this ending"):
        run(convert, "ft06", str(tmp_path / "x.xyz"))
    assert [each.name for each in tmp_path.iterdir()] == ["bad.txt"]
