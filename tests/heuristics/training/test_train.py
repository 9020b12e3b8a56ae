"""A training run: it can be ended at any moment and goes on to the same numbers, alone or on several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heuristics import local_search
from heuristics.training.algorithms import TrainingError
from heuristics.training.config import PRESETS, TrainingConfig
from heuristics.training.run_files import RunFolder
from l2s_plugin import generate, stop
from l2s_plugin.errors import L2SError
from l2s_plugin.policy import tensor_file
from l2s_plugin.policy.checkpoint import load_policy
from l2s_plugin.policy.config import PolicyConfig
from l2s_plugin.policy.selector import L2SSelector

torch = pytest.importorskip("torch")

from heuristics.training.reinforce import Reinforce  # noqa: E402
from heuristics.training.torchrun import Processes, own_device  # noqa: E402
from heuristics.training.train import Trainer, train  # noqa: E402
from heuristics.training.trials import Trial  # noqa: E402

TINY: dict[str, Any] = {
    "sizes": ("4x4", "5x3"), "batches": 5, "batch_size": 4, "steps": 6, "horizon": 3, "learning_rate": 1e-2,
    "validation_instances": 3, "validation_steps": 8, "validation_every": 2,
}  # fmt: skip
SMALL = PolicyConfig(width=8, layers=2, action_width=8, action_layers=1, normalisation="running")
PAPER = TrainingConfig(**TINY, policy=SMALL)
CRITIC = TrainingConfig(
    **TINY,
    decay=True,
    reward="decrement",
    discount=0.9,
    baseline="critic",
    entropy=0.01,
    largest_gradient=1.0,
    host="tabu",
    policy=PolicyConfig.from_dict(SMALL.to_dict() | {"features": "scaled"}),
)
EVOLVED = PAPER.with_changes(
    {"algorithm": "evolution", "population": 6, "neighbourhood": "n7", "policy": {"network": "moves", "margin": 1.0}}
)
SLOPES = EVOLVED.with_changes(
    {
        "algorithm": "slopes",
        "neighbourhood": "n7,n5",
        "features": ("change", "above_best", "as_incumbent"),
        "policy": {"drift": True},
    }
)
POLISHING = SLOPES.with_changes(
    {
        "host": "tabu",
        "start": "population",
        "start_steps": 60_000,
        "begin_with": "l2s-fast",
        "features": ["as_drawn_to"],
    }
)
IMITATING = PAPER.with_changes(
    {"algorithm": "imitation", "decay": True, "policy": {"network": "graph", "width": 8, "hidden": 8, "head": 8}}
)
CONFIGS = pytest.mark.parametrize(
    "config",
    [PAPER, CRITIC, EVOLVED, SLOPES, POLISHING, IMITATING],
    ids=["paper", "critic", "evolution", "slopes", "polishing", "imitation"],
)


def figures(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run, without what depends on the clock."""
    return [{key: row[key] for key in row if key != "seconds"} for row in RunFolder(folder).metrics()]


def tensors(folder: Path) -> dict[str, np.ndarray]:
    return dict(RunFolder(folder).load().tensors)


def assert_same_run(one: Path, other: Path) -> None:
    assert figures(one) == figures(other)
    expected = tensors(other)
    for name, array in tensors(one).items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
    policies = [load_policy(folder / "best.safetensors") for folder in (one, other)]
    for name, weight in policies[0].weights.items():
        np.testing.assert_array_equal(weight, policies[1].weights[name], err_msg=name)


@CONFIGS
def test_a_run_leaves_a_policy_that_searches(config: TrainingConfig, tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    state = train(config, tmp_path / "run", threads=1, listener=seen.append)
    assert [row["batch"] for row in seen] == [1, 2, 3, 4, 5]
    together = config.algorithm in ("evolution", "slopes")
    assert [row["size"] for row in seen] == (["4x4,5x3"] * 5 if together else ["4x4", "5x3", "4x4", "5x3", "4x4"])
    validated = {row["batch"]: row["validation"] for row in seen if "validation" in row}
    assert list(validated) == [2, 4, 5]
    assert state.best == {"batch": min(validated, key=lambda b: validated[b]), "validation": min(validated.values())}
    policy = load_policy(tmp_path / "run" / "best.safetensors")
    assert policy.config == config.policy
    assert policy.record["training"] == config.to_dict()
    assert policy.host["method"] == config.host
    instance = generate.uniform(5, 5, 1)
    result = local_search(instance, L2SSelector(policy), stop=stop.steps(20))
    result.schedule.verify()


def test_progress_within_a_batch_is_told(tmp_path: Path) -> None:
    """After every n moves: twice in 6 steps with n = 3."""
    seen: list[tuple[int, float]] = []
    train(PAPER.with_changes({"batches": 2}), tmp_path, threads=1, progress=lambda *row: seen.append(row))
    assert seen == [(1, 0.5), (1, 1.0), (2, 0.5), (2, 1.0)]


def test_training_changes_the_weights_and_gathers_statistics(tmp_path: Path) -> None:
    before = Trainer(PAPER, RunFolder(tmp_path)).algorithm.weights()
    train(PAPER, tmp_path / "run", threads=1)
    after = tensors(tmp_path / "run")
    for name, tensor in before.items():
        changed = (after[f"network.{name}"] != tensor).any()
        # a bias right before batch normalisation has no effect
        assert changed or name.endswith("linear1.bias"), name


@CONFIGS
@pytest.mark.parametrize("batches", [1, 3])
def test_an_interrupted_run_goes_on_to_the_same_numbers(config: TrainingConfig, batches: int, tmp_path: Path) -> None:
    train(config, tmp_path / "whole", threads=1)

    def interrupt(row: dict[str, Any]) -> None:
        if row["batch"] == batches:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "parts", threads=1, listener=interrupt)
    train(config, tmp_path / "parts", resume=True, threads=1)
    assert_same_run(tmp_path / "parts", tmp_path / "whole")


KILLED = """
import os, signal, sys
sys.path.insert(0, os.getcwd())
from heuristics.training import run_files
from heuristics.training.train import train
from tests.heuristics.training.test_train import CRITIC

calls = 0
def die(function, moment):
    def wrapped(*arguments):
        global calls
        calls += 1
        if moment == "after":
            function(*arguments)
        if calls == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments) if moment == "before" else None
    return wrapped

name, moment = sys.argv[2:]
target = run_files.RunFolder if name == "add_metrics" else run_files.tensor_file
setattr(target, name, die(getattr(target, name), moment))
train(CRITIC, sys.argv[1], threads=1)
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", ["add_metrics", "write"])
def test_a_killed_run_goes_on_to_the_same_numbers(name: str, moment: str, tmp_path: Path) -> None:
    """SIGKILL right before or after the figures of a batch, or its state, are written."""
    train(CRITIC, tmp_path / "whole", threads=1)
    folder = tmp_path / "killed"
    process = subprocess.run([sys.executable, "-c", KILLED, str(folder), name, moment], check=False)
    assert process.returncode == -signal.SIGKILL
    assert len(figures(folder)) < CRITIC.batches
    train(CRITIC, folder, resume=True, threads=1)
    assert_same_run(folder, tmp_path / "whole")


def test_a_line_cut_short_by_the_end_is_forgotten(tmp_path: Path) -> None:
    train(PAPER, tmp_path, threads=1)
    folder = RunFolder(tmp_path)
    with folder.metrics_file.open("a") as file:
        file.write('{"batch": 6, "imp')
    folder.forget_after(folder.load().batches)
    assert [row["batch"] for row in folder.metrics()] == [1, 2, 3, 4, 5]


def test_two_trainings_in_one_folder_are_refused(tmp_path: Path) -> None:
    """The second says so in one line and touches nothing, whether it is new or resumes."""
    said = []

    def second(row: dict[str, Any]) -> None:
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        for resume in (True, False):
            with pytest.raises(L2SError, match="another training is running in this folder") as caught:
                train(PAPER, tmp_path, resume=resume, threads=1)
            said.append(str(caught.value))
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before

    train(PAPER.with_changes({"batches": 1}), tmp_path, threads=1, listener=second)
    assert len(said) == 2
    train(PAPER.with_changes({"batches": 2}), tmp_path, resume=True, threads=1)  # the lock ended with the run


def test_a_run_that_was_ended_before_its_first_validation_leaves_its_policy(tmp_path: Path) -> None:
    """Asked for no more batches than are done, `--resume` validates what is there."""

    def interrupt(row: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    config = PAPER.with_changes({"validation_every": 100})
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path, threads=1, listener=interrupt)
    state = train(config.with_changes({"batches": 1}), tmp_path, resume=True, threads=1)
    assert state.best is not None
    assert state.best["batch"] == 1
    assert RunFolder(tmp_path).load().best == state.best
    assert load_policy(tmp_path / "best.safetensors").record["batch"] == 1


DAMAGED_STATE = {
    "no batches": lambda header, arrays: header.pop("batches"),
    "batches of another kind": lambda header, arrays: header.update(batches='"3"'),
    "negative batches": lambda header, arrays: header.update(batches="-1"),
    "best of another kind": lambda header, arrays: header.update(best="3"),
    "best without its figure": lambda header, arrays: header.update(best='{"batch": 1}'),
    "config of another kind": lambda header, arrays: header.update(config="[]"),
    "sizes that are a number": lambda header, arrays: header.update(config='{"sizes": 5}'),
    "unknown Adam": lambda header, arrays: arrays.update({"adam.x.step": np.zeros(())}),
    "half of Adam": lambda header, arrays: arrays.pop("adam.0.exp_avg"),
    "Adam of another shape": lambda header, arrays: arrays.update({"adam.0.exp_avg": np.zeros(3)}),
    "negative steps": lambda header, arrays: arrays.update({"adam.0.step": np.array(-1.0)}),
    "numbers that are none": lambda header, arrays: arrays.update({"adam.0.step": np.array(np.nan)}),
    "no network": lambda header, arrays: [arrays.pop(name) for name in list(arrays) if name.startswith("network.")],
}


@pytest.mark.parametrize("damage", DAMAGED_STATE.values(), ids=DAMAGED_STATE)
def test_a_damaged_state_is_one_line(damage, tmp_path: Path) -> None:
    config = PAPER.with_changes({"batches": 1})
    train(config, tmp_path, threads=1)
    folder = RunFolder(tmp_path)
    arrays, header = tensor_file.read(folder.state_file)
    damage(header, arrays)
    tensor_file.write(folder.state_file, arrays, header)
    with pytest.raises(L2SError, match=r"state\.safetensors: damaged") as caught:
        train(config, tmp_path, resume=True, threads=1)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "line", ["5", "{}", "[]", '{"batch": "1"}', '{"batch": 1}', "{", '{"batch": 1, "size": "", "improvement": []}']
)
def test_damaged_figures_are_one_line(line: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.metrics_file.write_text(line + "\n")
    with pytest.raises(L2SError, match=r"metrics\.jsonl:1"):
        folder.metrics()


def test_more_batches_can_be_added_later(tmp_path: Path) -> None:
    train(PAPER.with_changes({"batches": 3}), tmp_path / "run", threads=1)
    train(PAPER, tmp_path / "run", resume=True, threads=1)
    train(PAPER, tmp_path / "whole", threads=1)
    rows = [row for row in figures(tmp_path / "run") if row["batch"] != 3]  # where the short run validated at its end
    assert rows == [row for row in figures(tmp_path / "whole") if row["batch"] != 3]


TORCHRUN = """
import os, sys
sys.path.insert(0, os.getcwd())
from heuristics.training.train import train
from tests.heuristics.training import test_train

train(getattr(test_train, sys.argv[2]), sys.argv[1], threads=1)
"""


def torchrun(*arguments: str) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_two_processes_share_a_batch(tmp_path: Path) -> None:
    """Together they see the instances that one process would see, and stop with the same weights every time."""
    script = tmp_path / "script.py"
    script.write_text(TORCHRUN)
    for name in ("one", "two"):
        torchrun(str(script), str(tmp_path / name), "PAPER")
    assert_same_run(tmp_path / "one", tmp_path / "two")
    alone, *shares = (
        Trainer(PAPER, RunFolder(tmp_path), processes=processes).batch(3).instances
        for processes in (Processes(), Processes(0, 2), Processes(1, 2))
    )
    assert alone == shares[0] + shares[1]
    rows = figures(tmp_path / "one")
    assert [row["batch"] for row in rows] == [1, 2, 3, 4, 5]


def test_two_processes_share_the_rules_that_evolution_tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the numbers of a single process, which tries them all."""
    script = tmp_path / "script.py"
    script.write_text(TORCHRUN)
    for name in ("EVOLVED", "SLOPES"):
        torchrun(str(script), str(tmp_path / f"{name}-two"), name)
        train(globals()[name], tmp_path / f"{name}-one", threads=1)
        assert_same_run(tmp_path / f"{name}-one", tmp_path / f"{name}-two")
    tried: list[int] = []
    results = Trial.results
    monkeypatch.setattr(Trial, "results", lambda trial, rules, n: tried.append(len(rules)) or results(trial, rules, n))
    monkeypatch.setattr("heuristics.training.torchrun.distributed.all_reduce", lambda values: None)
    trainer = Trainer(EVOLVED, RunFolder(tmp_path / "share"), processes=Processes(1, 2))
    trainer.algorithm.learn(trainer.batch(1))
    assert tried == [EVOLVED.population // 2]


def test_every_process_of_a_machine_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_device("cuda") == "cuda"
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert [own_device(device) for device in ("cuda", "cuda:1", "cpu")] == ["cuda:3", "cuda:1", "cpu"]


# --- bad input


def test_a_batch_that_cannot_be_shared_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heuristics.training.train.process_group", _three_processes)
    with pytest.raises(L2SError, match="batch of 4 cannot be shared equally by 3 processes"):
        train(PAPER, tmp_path)


class _three_processes:  # noqa: N801  (stands in for a function)
    def __init__(self, device: str, threads: int | None) -> None:
        pass

    def __enter__(self) -> Processes:
        return Processes(0, 3)

    def __exit__(self, *error: object) -> None:
        pass


@pytest.mark.parametrize("what", ["scores", "gradient"])
def test_training_stops_at_numbers_that_are_not_finite(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last good state and policy stay."""
    train(PAPER.with_changes({"batches": 2}), tmp_path, threads=1)
    before = tensors(tmp_path)

    def poison(self: Reinforce, *arguments: Any) -> Any:
        if what == "scores":
            with torch.no_grad():
                next(self.network.parameters()).fill_(float("nan"))
            return original(self, *arguments)
        return original(self, arguments[0] * float("inf"), arguments[1])

    name = "_stretch" if what == "scores" else "update"
    original = getattr(Reinforce, name)
    monkeypatch.setattr(Reinforce, name, poison)
    with pytest.raises(TrainingError, match=f"the {what} in batch 3 are no finite numbers; stopped, .* holds batch 2"):
        train(PAPER, tmp_path, resume=True, threads=1)
    for name, array in tensors(tmp_path).items():
        np.testing.assert_array_equal(array, before[name])


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(PAPER.with_changes({"batches": 2}), tmp_path, threads=1)
    before = (tmp_path / "state.safetensors").read_bytes()

    def full(*arguments: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("l2s_plugin.files._open_aside", full)
    with pytest.raises(L2SError, match=r"cannot write .*\.(safetensors|jsonl): No space left on device"):
        train(PAPER, tmp_path, resume=True, threads=1)
    assert (tmp_path / "state.safetensors").read_bytes() == before


def test_a_run_goes_on_only_as_it_began(tmp_path: Path) -> None:
    train(PAPER.with_changes({"batches": 1}), tmp_path, threads=1)
    with pytest.raises(L2SError, match=r"the run began with learning_rate 0\.01, not 0\.5"):
        train(PAPER.with_changes({"learning_rate": 0.5}), tmp_path, resume=True)
    with pytest.raises(L2SError, match="holds a training run already"):
        train(PAPER, tmp_path)


def test_what_is_no_run_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(L2SError, match="no training run to resume"):
        train(PAPER, tmp_path, resume=True)
    (tmp_path / "state.safetensors").write_bytes(b"rubbish")
    with pytest.raises(L2SError, match="not a safetensors file"):
        train(PAPER, tmp_path, resume=True)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sizes": ["0x5"]}, "size 0x5: with fewer than two jobs"),
        ({"sizes": ["1x5"]}, "nothing to choose"),
        ({"sizes": "10"}, "a size is JOBSxMACHINES, such as 10x10, or JOBSxMACHINES/STAGES, got '10'"),
        ({"sizes": ["1000x1000"]}, "more than 10000 operations"),
        ({"sizes": []}, "at least one size"),
        ({"sizes": 5}, "sizes must be a list, got 5"),
        ({"features": 3}, "features must be a list, got 3"),
        ({"neighbourhood": 3}, "neighbourhood must be text, got 3"),
        ({"largest_gradient": float("inf")}, "largest_gradient must be a number from 0 to"),
        ({"policy": {"network": []}}, r"network must be text, got \[\]"),
        ({"sizes": ["5x4/5"]}, "size 5x4/5: expected 1 to 4 stages"),
        ({"algorithm": "slopes"}, r"algorithm slopes trains networks of kind moves, not tpm\+cam"),
        ({"policy": {"network": "moves"}}, r"algorithm reinforce trains networks of kind tpm\+cam, not moves"),
        ({"policy": {"network": "mlp"}}, "unknown network 'mlp'"),
        ({"population": 0}, "population must be a whole number"),
        ({"features": ["chnge"]}, "unknown move feature 'chnge'; did you mean change"),
        ({"features": [27]}, "features must be a list of texts|must be text"),
        ({"begin_with": "l2s"}, "begin_with goes with algorithms that try out whole searches, not with reinforce"),
        ({"start_steps": 0}, "start_steps must be a whole number, 1 or more, got 0"),
        ({"batches": 0}, "batches must be a whole number, 1 or more, got 0"),
        ({"learning_rate": -1.0}, "learning_rate must be a number from 0 to 100"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number"),
        ({"horizon": 100}, "must not be fewer than the horizon"),
        ({"reward": "best"}, "reward must be incumbent or decrement, got 'best'"),
        ({"lerning_rate": 0.1}, "unknown training option 'lerning_rate'.*learning_rate"),
        ({"policy": {"widht": 8}}, "unknown architecture key 'widht'.*width"),
        ({"policy": 3}, "policy must be a table"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"warm_up": 3}, "unknown training option 'warm_up'"),
        ({"policy": {"hints": True}}, "policies with hints True are no longer supported"),
        ({"algorithm": "a2c"}, "algorithm must be reinforce or imitation or evolution or slopes, got 'a2c'"),
    ],
)
def test_impossible_configurations_are_told(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(L2SError, match=words):
        PAPER.with_changes(changes)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_survive_the_header_of_a_file(name: str) -> None:
    config = PRESETS[name]
    assert TrainingConfig().with_changes(json.loads(json.dumps(config.to_dict()))) == config


def test_the_default_is_the_paper() -> None:
    """Appendices A and B."""
    config = PRESETS["paper"]
    assert (config.sizes, config.batches, config.batch_size, config.steps, config.horizon) == (
        ("10x10",), 2000, 64, 500, 10,
    )  # fmt: skip
    assert (config.learning_rate, config.reward, config.discount, config.baseline) == (
        5e-5,
        "incumbent",
        1.0,
        "returns",
    )
    assert (config.policy.width, config.policy.layers, config.policy.heads, config.policy.embedding) == (
        128,
        4,
        1,
        "both",
    )
    assert (config.validation_instances, config.validation_every) == (100, 10)
