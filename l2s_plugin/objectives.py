"""What a search may minimise: the end of the last job, or the largest end of a job minus its due date."""

MAKESPAN, LATENESS = OBJECTIVES = ("makespan", "lateness")
