"""What algorithms that learn by gradients share: torch modules, Adam, and both as arrays to go on from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heuristics.training.algorithms import Arrays, Batch, TrainingError
from heuristics.training.config import TrainingConfig
from heuristics.training.torchrun import Processes
from l2s_plugin.errors import L2SError

_ADAM = ("step", "exp_avg", "exp_avg_sq")


class Learner:
    """Modules by name, `network` among them, and their optimiser; several processes average their gradients."""

    whole_searches: ClassVar[bool] = False

    def __init__(self, config: TrainingConfig, processes: Processes, modules: Mapping[str, nn.Module]) -> None:
        self._config, self._processes, self._modules = config, processes, modules
        everything = [parameter for module in modules.values() for parameter in module.parameters()]
        self._parameters = [parameter for parameter in everything if parameter.requires_grad]
        self._optimiser = torch.optim.Adam(self._parameters, lr=config.learning_rate)

    def update(self, loss: Tensor, batch: Batch) -> None:
        """One step of Adam."""
        for group in self._optimiser.param_groups:
            group["lr"] = batch.learning_rate
        self._optimiser.zero_grad()
        loss.backward()
        self._processes.average([parameter.grad for parameter in self._parameters if parameter.grad is not None])
        norm = nn.utils.clip_grad_norm_(self._parameters, self._config.largest_gradient or torch.inf)
        if not torch.isfinite(norm):
            raise TrainingError(f"the gradient in batch {batch.number} are no finite numbers")
        self._optimiser.step()

    def weights(self) -> Arrays:
        """Those of the network."""
        return _arrays(self._modules["network"].state_dict())

    def state(self) -> Arrays:
        """Modules and optimiser; Adam knows parameters only once it has changed them."""
        tensors = {
            f"{module}.{name}": tensor
            for module, its in self._modules.items()
            for name, tensor in its.state_dict().items()
        }
        known = self._optimiser.state_dict()["state"]
        for i, parameter in enumerate(self._parameters):
            fresh = (torch.zeros(()), torch.zeros_like(parameter), torch.zeros_like(parameter))
            tensors |= {f"adam.{i}.{name}": tensor for name, tensor in zip(_ADAM, fresh, strict=True)}
            tensors |= {f"adam.{i}.{name}": tensor for name, tensor in known.get(i, {}).items()}
        return _arrays(tensors)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state."""
        for name, array in state.items():
            if name.startswith("adam.") and name.endswith((".step", "_sq")) and (array < 0).any():
                raise L2SError(f"{name!r} holds negative numbers")

        def part(prefix: str) -> dict[str, Tensor]:
            return {n.removeprefix(prefix): torch.tensor(a) for n, a in state.items() if n.startswith(prefix)}

        for name, module in self._modules.items():
            module.load_state_dict(part(f"{name}."))
        adam, optimiser = part("adam."), self._optimiser.state_dict()
        optimiser["state"] = {i: {name: adam[f"{i}.{name}"] for name in _ADAM} for i in range(len(self._parameters))}
        self._optimiser.load_state_dict(optimiser)


def _arrays(tensors: Mapping[str, Tensor]) -> Arrays:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
