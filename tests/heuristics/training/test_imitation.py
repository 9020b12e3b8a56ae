"""Imitation: the loss is what it is called, teachers teach what they do, and the network learns it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import l2s_plugin as l2s
from heuristics.training.config import preset
from heuristics.training.environment import Environment
from heuristics.training.imitation import Teacher, divergence
from heuristics.training.run_files import RunFolder
from heuristics.training.train import train
from l2s_plugin.errors import L2SError
from l2s_plugin.kernels.moves import Moves
from l2s_plugin.kernels.state import State
from l2s_plugin.kernels.view import StateView
from l2s_plugin.policy.selector import L2SSelector

SMALL = preset("graph").with_changes(
    {
        "sizes": "5x5", "batches": 6, "batch_size": 8, "steps": 20, "teacher": "boltzmann", "validation_instances": 2,
        "validation_every": 3, "policy": {"width": 16, "hidden": 16, "head": 16},
    }
)  # fmt: skip


def state_and_moves(environment: Environment, b: int) -> tuple[StateView, Moves]:
    """As a search would show them."""
    view = StateView(environment.instances[b], State._make(column[b] for column in environment._states))
    rows = environment._rows[environment._trajectory == b]
    return view, Moves._make(column[b] for column in environment._moves).rows(rows)


def test_the_divergence_is_that_of_the_two_distributions():
    teacher, scores = torch.tensor([1.0, 2.0, 0.5, -1.0, 3.0]), torch.tensor([0.0, 0.3, 2.0, 1.0, -2.0])
    expected = 0.0
    for rows in (slice(0, 2), slice(2, 5)):
        p, q = torch.softmax(teacher[rows], 0), torch.softmax(scores[rows], 0)
        expected += float((p * (p / q).log()).sum()) / 2
    assert float(divergence(teacher, scores, np.array([2, 0, 3]))) == pytest.approx(expected)
    assert float(divergence(teacher, teacher + 5, np.array([2, 0, 3]))) == pytest.approx(0, abs=1e-6)


def test_a_policy_as_teacher_scores_moves_as_in_a_search():
    environment = Environment([l2s.generate.uniform(8, 6, seed) for seed in range(3)], seed=1)
    selector = L2SSelector("l2s")
    for _ in range(15):
        _, features = environment.surroundings()
        scores = np.split(Teacher("l2s").scores(features), np.cumsum(environment.n_actions)[:-1])
        for b, own in enumerate(scores):
            expected = selector.score_moves(*state_and_moves(environment, b))
            near = expected > -np.inf
            np.testing.assert_allclose(own[near], expected[near], atol=1e-4)
            assert (own[~near] < -20).all()
        environment.step(np.where(environment.n_actions > 0, 0, -1))


def test_only_rules_can_teach():
    with pytest.raises(L2SError, match="teacher 'l2s-fast' must be boltzmann or a policy over moves without drift"):
        Teacher("l2s-fast")


def test_the_network_comes_closer_to_its_teacher(tmp_path):
    train(SMALL, tmp_path, threads=1)
    divergences = [row["divergence"] for row in RunFolder(tmp_path).metrics()]
    assert len(divergences) == 6
    assert divergences[-1] < 0.7 * divergences[0]
