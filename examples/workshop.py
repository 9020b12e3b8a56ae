"""Two weeks of a workshop: a plan in which no order is late, the mill that breaks down on Tuesday, the plan after it.

    python examples/workshop.py [TABLE.csv] [FOLDER] [STEPS]

A row of the table is a step of an order. Times are minutes after Monday, 06:00; the shop works around the clock.
"""

import sys
from pathlib import Path

import l2s_plugin as l2s
from heuristics import replan, solve
from integrations.report import save_report
from l2s_plugin.clock import Clock
from l2s_plugin.tables import save_plan

TABLE = Path(__file__).with_name("workshop.csv")


def main(table: str = str(TABLE), folder: str = ".", steps: str = "20000") -> None:
    out, stop = Path(folder), l2s.stop.steps(int(steps))
    orders = l2s.load(table).with_details(clock=Clock.of("2026-11-23T06:00")).with_objective("lateness")
    result = solve(orders, stop=stop)
    print(f"plan: largest lateness {result.lateness} minutes, {result.late_jobs} of {orders.n_jobs} orders late")

    tuesday, wednesday = "2026-11-24T10:00", "2026-11-25T10:00"
    new = replan(orders, result, tuesday, stop, down=[("Mill", tuesday, wednesday)])
    print(f"new plan: largest lateness {new.result.lateness} minutes, {len(new.changes)} operations moved")
    print(f"the old plan moved to the right: {new.moved_right.lateness} minutes")
    for row in new.late:
        print(f"{row['job']} is late by {row['late']} minutes")

    for name, found in (("plan", result), ("new", new.result)):
        save_plan(found.schedule, out / f"{name}.csv")
        found.schedule.gantt(out / f"{name}.png", by="job")
    save_report([new.result], out / "plans.html", notes=new.notes, before=result.schedule, changes=new.changes)


if __name__ == "__main__":
    main(*sys.argv[1:])
