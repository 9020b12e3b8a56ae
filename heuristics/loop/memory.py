"""What a host forbids and remembers along a trajectory, and the same as the kernels read it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heuristics.loop import kernels
from heuristics.loop.kernels import BEST, EVENTS, FOREVER, RESTARTED, STORED, Record, Rules
from l2s_plugin.kernels.moves import NO_LIMIT
from l2s_plugin.kernels.state import LONG_AGO, State
from l2s_plugin.selectors import CompiledSelector

_EVENT_ROWS = 1024


@dataclass(frozen=True)
class Memory:
    """What a host forbids and remembers; see `Rules`."""

    host: str = "local-search"  # a learned selector may know a policy that was trained there
    tenure: tuple[int, int] = (0, 0)  # (low, high): (0, 0) forbids nothing, (1, 1) the immediate undo
    aspiration: bool = False
    wait: bool = True  # like the dummy action of the paper
    recent: int = 0  # how many schedules to keep for restarts when a selector refuses all moves
    annealing: tuple[float, float] | None = None  # (temperature, cooling per step)


def rules_for(
    memory: Memory, form: CompiledSelector | None = None, sample: bool = False, mean_duration: float = 0.0
) -> Rules:
    """The memory's rules as the kernels read them, for a selector with that compiled form."""
    temperature, cooling = memory.annealing or (0.0, 1.0)
    cutoff = {"smallest": 0, "near": int(form.margin * mean_duration) + 1 if form else 0}
    return Rules(
        tenure_low=memory.tenure[0],
        tenure_high=memory.tenure[1],
        aspiration=memory.aspiration,
        wait=memory.wait,
        exact=form is not None and form.values == "exact",
        cutoff=cutoff.get(form.values, NO_LIMIT) if form else NO_LIMIT,
        sample=sample,
        temperature=float(temperature),
        cooling=float(cooling),
    )


def move_capacity(n_operations: int) -> int:
    """Room for all the moves that a neighbourhood may list."""
    return 4 * n_operations + 16


def new_record(n_operations: int, memory: Memory, capacity: int, event_rows: int = _EVENT_ROWS) -> Record:
    """An empty record for a trajectory."""
    table = 1 << int(16 * n_operations - 1).bit_length() if memory.tenure[1] > 0 else 1
    return Record(
        forbidden=np.zeros(table, np.int64),
        best_order=np.zeros(n_operations, np.uint32),
        counters=np.zeros(7, np.int64),
        events=np.zeros((event_rows, 2), np.int64),
        recent=np.zeros((memory.recent, n_operations), np.uint32),
        scores=np.zeros(capacity, np.float64),
        temperature=np.zeros(1),
    )


def begin_record(state: State, record: Record, rules: Rules) -> None:
    """Empty the memory and make the current schedule the incumbent; the step counter goes on."""
    record.forbidden.fill(0)
    state.moved.fill(LONG_AGO)
    record.temperature[0] = rules.temperature
    record.counters[BEST] = FOREVER
    record.counters[[STORED, EVENTS, RESTARTED]] = 0
    kernels.note_incumbent(state, record)
    kernels.store_recent(state, record)
