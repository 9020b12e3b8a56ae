"""`--config FILE.toml`: the same as the options, checked as strictly, and overruled by the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from integrations.cli import l2s
from tests.integrations.command_line import assert_bad_input, report, reports, solve


@pytest.fixture
def config(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "run.toml"
        path.write_text(text)
        return str(path)

    return write


def test_a_file_means_the_same_as_the_options(config) -> None:
    path = config('max-steps = 70\nselector = "greedy"\nneighbourhood = "n5"\nseed = 3\nmethod = "tabu"\n')
    options = ["--max-steps", "70", "--selector", "greedy", "--neighbourhood", "n5", "--seed", "3", "--method", "tabu"]
    from_file, from_options = report("la16", "--config", path), report("la16", *options)
    for data in (from_file, from_options):
        assert data["steps"] == 70
        data["history"] = [row[1:] for row in data["history"]]
        for clock in ("seconds", "steps_per_second", "time_to_best"):
            del data[clock]
    assert from_file == from_options


def test_every_option_can_stand_in_a_file(config, monkeypatch: pytest.MonkeyPatch) -> None:
    """All spellings but --config and --help, each with a value of its type."""
    values = {click.types.BoolParamType: "true", click.types.IntParamType: "1", click.types.FloatParamType: "1.5"}
    command = l2s.get_command(None, "solve")
    for parameter in command.params:
        if not parameter.expose_value:
            continue
        kind = next((text for kind, text in values.items() if isinstance(parameter.type, kind)), '"text"')
        if isinstance(parameter.type, click.Choice):
            kind = f'"{parameter.type.choices[0]}"'
        elif isinstance(parameter.type, click.IntRange):
            kind = str(parameter.type.min)
        elif parameter.name == "method":
            kind = '"tabu"'
        for word in (*parameter.opts, *parameter.secondary_opts):
            path = config(f"{word.lstrip('-').replace('-', '_')} = {kind}\n")
            with command.make_context("solve", ["ft06", "--config", path]) as ctx:
                assert ctx.get_parameter_source(parameter.name) is not click.core.ParameterSource.DEFAULT


def test_dashes_and_underscores_are_the_same(config) -> None:
    assert report("ft06", "--config", config("max_steps = 4"))["steps"] == 4
    assert report("ft06", "--config", config("max-steps = 4"))["steps"] == 4


def test_the_command_line_wins(config) -> None:
    path = config("max-steps = 4\nseed = 9")
    data = report("ft06", "--max-steps", "3", "--config", path)
    assert (data["steps"], data["seed"]) == (3, 9)


def test_instances_may_stand_in_the_file(config) -> None:
    path = config('instances = ["ft06", "la01"]\nmax-steps = 4')
    assert [data["instance"] for data in reports("--config", path)] == ["ft06", "la01"]
    assert report("la02", "--config", path)["instance"] == "la02"


def test_a_flag_can_be_switched_off(config) -> None:
    path = config('method = "local-search"\nselector = "greedy"\nmax-steps = 40\nforbid-undo = false')
    assert "--allow-undo" in solve("la16", "--config", path).stdout
    path = config('method = "local-search"\nselector = "greedy"\nmax-steps = 40\nallow-undo = true')
    assert "--allow-undo" in solve("la16", "--config", path).stdout


def test_the_line_that_reproduces_a_run_needs_no_file(config) -> None:
    path = config('max-steps = 40\nselector = "greedy"\nneighbourhood = "n5"')
    summary = solve("la16", "--config", path).stdout
    expected = "l2s solve la16 --method memetic --selector greedy --neighbourhood n5 --seed 0 --max-steps 40"
    assert f"reproduce: {expected}\n" in summary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max-stps = 4", "run.toml: unknown key 'max-stps'; did you mean max-steps"),
        ('workers = "2"', "run.toml: workers must be a whole number, got '2'"),
        ("workers = true", "run.toml: workers must be a whole number, got True"),
        ("workers = 1.0", "run.toml: workers must be a whole number, got 1.0"),
        ("workers = 0", "run.toml: workers: 0 is not in the range"),
        ("time-limit = true", "run.toml: time-limit must be a number, got True"),
        ('time-limit = "1"', "run.toml: time-limit must be a number, got '1'"),
        ("time-limit = -1", "time limit must be a positive number of seconds"),
        ("json = 1", "run.toml: json must be true or false, got 1"),
        ("selector = 5", "run.toml: selector must be text, got 5"),
        ('selector = ["greedy"]', "run.toml: selector must be text, got ['greedy']"),
        ('method = "magic"', "run.toml: method: unknown method 'magic'; known: cooperation, cp-sat, dispatch, hybrid"),
        ("instances = [1]", "run.toml: instances must be text or a list of texts, got 1"),
        ("max-steps = 1\nmax_steps = 2", "run.toml: max_steps says again what another key has said"),
        ('config = "other.toml"', "run.toml: unknown key 'config'"),
        ("[solve]\nseed = 1", "run.toml: unknown key 'solve'"),
        ("seed =", "run.toml: not TOML: Invalid value"),
        ("forbid-undo = true", "run.toml) does not go with --method memetic, only with local-search"),
    ],
)
def test_mistakes_are_one_line_that_names_file_and_key(text: str, message: str, config) -> None:
    assert_bad_input(solve("ft06", "--config", config(text)), message)


def test_a_file_that_is_not_there_or_no_text_is_bad_input(tmp_path: Path) -> None:
    assert_bad_input(solve("ft06", "--config", str(tmp_path / "none.toml")), "cannot read")
    (tmp_path / "run.toml").write_bytes(b"\xff\xfe")
    assert_bad_input(solve("ft06", "--config", str(tmp_path / "run.toml")), "not a text file")
