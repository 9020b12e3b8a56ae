"""What the core itself offers, through the same hooks as any plugin."""

from __future__ import annotations

from l2s_plugin.hookspecs import hookimpl
from l2s_plugin.specs import InstanceFormatSpec, NeighbourhoodSpec, SelectorSpec


@hookimpl
def l2s_instance_formats() -> list[InstanceFormatSpec]:
    home = "l2s_plugin.formats"
    return [
        InstanceFormatSpec(
            "standard", f"{home}.standard:Standard", "text, machine-duration pairs per job, from 0"
        ),
        InstanceFormatSpec(
            "taillard", f"{home}.taillard:Taillard", "text, times matrix and machines matrix, from 1"
        ),
        InstanceFormatSpec("l2s-json", f"{home}.l2s_json:L2SJson", "JSON with everything an instance holds"),
        InstanceFormatSpec(
            "job-shop-lib", f"{home}.job_shop_lib:JobShopLib", "JSON of the job_shop_lib package"
        ),
        InstanceFormatSpec(
            "npy", f"{home}.npy:Npy", "NumPy array [n, 2, jobs, machines] as the paper's authors publish"
        ),
    ]


@hookimpl
def l2s_neighbourhoods() -> list[NeighbourhoodSpec]:
    return []


@hookimpl
def l2s_selectors() -> list[SelectorSpec]:
    return []
