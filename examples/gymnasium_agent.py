"""An agent learns to improve schedules: our environment for Gymnasium, and REINFORCE in plain torch.

    python examples/gymnasium_agent.py [SIZE] [UPDATES] [STEPS]

The policy scores a move by a weighted sum of what the search knows about it, the four `hints`. It begins as a random
walk, and is measured before and after on instances that it is not trained on.
"""

import sys

import gymnasium
import torch

from integrations.gymnasium import ENVIRONMENT_ID

TRAJECTORIES = 32


def choose(policy, observation):
    """An action for each trajectory, sampled, and the logarithm of its probability."""
    scores = policy(torch.as_tensor(observation["hints"])).squeeze(-1)
    forbidden = torch.as_tensor(observation["action_mask"]) == 0
    moves = torch.distributions.Categorical(logits=scores.masked_fill(forbidden, -torch.inf))
    actions = moves.sample()
    return actions.numpy(), moves.log_prob(actions)


def play(envs, policy, steps, seed):
    """An episode of each trajectory: log-probabilities and rewards (steps, trajectories), and the best makespans."""
    observation, info = envs.reset(seed=seed)
    best = torch.as_tensor(info["incumbent"])
    going = torch.ones(TRAJECTORIES, dtype=torch.bool)
    log_probabilities, rewards = [], []
    for _ in range(steps):
        actions, log_probability = choose(policy, observation)
        observation, reward, terminated, truncated, info = envs.step(actions)
        log_probabilities.append(log_probability * going)
        rewards.append(torch.as_tensor(reward) * going)
        best = torch.where(going, torch.as_tensor(info["incumbent"]), best)
        going = going & ~torch.as_tensor(terminated | truncated)  # what follows belongs to the next episode
    return torch.stack(log_probabilities), torch.stack(rewards), best.double()


def reinforce(log_probabilities, rewards):
    """The loss: what followed an action, against what followed in the other trajectories at that moment."""
    returns = rewards.flip(0).cumsum(0).flip(0)
    advantages = (returns - returns.mean(1, keepdim=True)) / (returns.std() + 1e-8)
    return -(log_probabilities * advantages).mean()


def main(size: str = "10x10", updates: str = "30", steps: str = "100") -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)  # the tensors are small: threads would wait for each other
    length = int(steps)
    envs = gymnasium.make_vec(ENVIRONMENT_ID, num_envs=TRAJECTORIES, size=size, max_steps=length, max_moves=32)
    policy = torch.nn.Linear(4, 1, bias=False)
    torch.nn.init.zeros_(policy.weight)
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.2)

    def report(when: str) -> None:
        _, _, makespans = play(envs, policy, length, seed=0)
        print(f"{when}: mean makespan {makespans.mean():.1f}")

    report("random walk")
    for update in range(1, int(updates) + 1):
        log_probabilities, rewards, _ = play(envs, policy, length, seed=update * TRAJECTORIES)
        optimiser.zero_grad()
        reinforce(log_probabilities, rewards).backward()
        optimiser.step()
        if update % 10 == 0:
            report(f"update {update}")
    print("weights:", *(f"{weight:.2f}" for weight in policy.weight[0].tolist()))


if __name__ == "__main__":
    main(*sys.argv[1:])
