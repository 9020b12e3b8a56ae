"""From a table of a workshop's work to a plan and its picture.

    python examples/workshop.py [TABLE.csv] [GANTT.png] [SECONDS]

A row of the table is a step of a job: job, machine, minutes. The steps of a job are done in the order of the rows.
"""

import csv
import sys
from pathlib import Path

import l2s_plugin as l2s
from heuristics import solve

TABLE = Path(__file__).with_name("workshop.csv")


def read(table: str | Path) -> tuple[l2s.Instance, list[str], list[str]]:
    """The instance, and the names behind its numbers: those of the jobs and of the machines."""
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    jobs = list(dict.fromkeys(row["job"] for row in rows))
    machines = list(dict.fromkeys(row["machine"] for row in rows))
    steps = [[(machines.index(r["machine"]), int(r["minutes"])) for r in rows if r["job"] == job] for job in jobs]
    return l2s.Instance.from_jobs(steps, name=Path(table).stem), jobs, machines


def main(table: str = str(TABLE), picture: str = "workshop.png", seconds: str = "2") -> None:
    instance, jobs, machines = read(table)
    result = solve(instance, stop=l2s.stop.seconds(float(seconds)))
    schedule = result.schedule
    print(f"everything is done after {schedule.makespan} minutes ({result.status.lower()})")
    for machine, operations in zip(machines, schedule.machine_orders, strict=True):
        plan = [f"{jobs[instance.job[x]]} {schedule.start[x]}-{schedule.end[x]}" for x in operations]
        print(f"{machine}: {', '.join(plan)}")
    schedule.gantt(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
