"""What the core itself offers, through the same hooks as any plugin."""

from __future__ import annotations

from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.specs import InstanceFormatSpec, NeighbourhoodSpec, PolicySpec, SelectorSpec


@hookimpl
def l2s_instance_formats() -> list[InstanceFormatSpec]:
    home = "l2s_plugin.formats"
    return [
        InstanceFormatSpec("standard", f"{home}.standard:Standard", "text, machine-duration pairs per job, from 0"),
        InstanceFormatSpec("taillard", f"{home}.taillard:Taillard", "text, times matrix and machines matrix, from 1"),
        InstanceFormatSpec("l2s-json", f"{home}.l2s_json:L2SJson", "JSON with everything an instance holds"),
        InstanceFormatSpec("job-shop-lib", f"{home}.job_shop_lib:JobShopLib", "JSON of the job_shop_lib package"),
        InstanceFormatSpec(
            "npy", f"{home}.npy:Npy", "NumPy array [n, 2, jobs, machines] as the paper's authors publish"
        ),
        InstanceFormatSpec("csv", f"{home}.csv:Csv", "table with one row an operation, by column names"),
        InstanceFormatSpec("xlsx", f"{home}.xlsx:Xlsx", "the same table as an Excel workbook"),
    ]


@hookimpl
def l2s_neighbourhoods() -> list[NeighbourhoodSpec]:
    home = "l2s_plugin.neighbourhoods.blocks"
    return [
        NeighbourhoodSpec("n1", f"{home}:n1", "swap any neighbours inside a critical block"),
        NeighbourhoodSpec("n4", f"{home}:n4", "move an operation towards the ends of its block, as far as it goes"),
        NeighbourhoodSpec("n5", f"{home}:n5", "swap the first and the last pair of each block"),
        NeighbourhoodSpec("n6", f"{home}:n6", "move an operation right behind or before its block"),
        NeighbourhoodSpec("n7", f"{home}:n7", "n6, and the outer operations of a block moved inside"),
    ]


@hookimpl
def l2s_selectors() -> list[SelectorSpec]:
    home = "l2s_plugin.selectors.rules"
    return [
        SelectorSpec("estimate", f"{home}:estimate", "smallest estimated makespan: the rule of tabu search"),
        SelectorSpec("greedy", f"{home}:greedy", "smallest exact makespan, better or not"),
        SelectorSpec("best-improvement", f"{home}:best_improvement", "best move that lowers the makespan, or none"),
        SelectorSpec("first-improvement", f"{home}:first_improvement", "first move that lowers the makespan, or none"),
        SelectorSpec("random", f"{home}:random", "any move"),
        SelectorSpec("boltzmann", f"{home}:boltzmann", "sample by estimate; boltzmann:T sets the temperature"),
        SelectorSpec(
            "l2s", "l2s_plugin.policy.selector:L2SSelector", "as the policy for the host says, or l2s:NAME|FILE"
        ),
        SelectorSpec("l2s-greedy", "l2s_plugin.policy.selector:create_greedy", "the move a policy likes best"),
        SelectorSpec("l2s-fast", "l2s_plugin.policy.selector:create_fast", "learned, almost as quick as a rule"),
    ]


@hookimpl
def l2s_policies() -> list[PolicySpec]:
    home = "l2s_plugin.policy.library"
    return [
        PolicySpec("l2s", f"{home}:L2S", "over moves, for local search with n5; the default"),
        PolicySpec("l2s-graph", f"{home}:L2S_GRAPH", "our graph network, for local search with n5"),
        PolicySpec("l2s-fast", f"{home}:L2S_FAST", "over moves, for tabu search in the compiled loop"),
        PolicySpec("l2s-polish", f"{home}:L2S_POLISH", "over moves, for what polishes the members of a population"),
    ]
