"""What a policy over moves knows about a move (u, v): times in mean durations, everything bounded, nothing that grows
with the instance. No numba here, so that listings of policies stay light."""

from __future__ import annotations

from enum import IntEnum


class MoveFeature(IntEnum):
    """The place of each number among the features of a move."""

    CHANGE = 0  # of the makespan, estimated
    ABOVE_BEST = 1  # estimate above the best admissible one
    RECENCY_4 = 2  # of what it brings back: e^(-idle / 4)
    RECENCY_16 = 3  # e^(-idle / 16)
    RECENCY_64 = 4  # e^(-idle / 64)
    RECENCY_512 = 5  # 512 / (512 + idle)
    GAP = 6  # makespan above the incumbent
    AGE = 7  # steps t since the incumbent: t / (t + 200)
    CHOICES = 8  # number of admissible moves
    PLACE = 9  # in the schedule: end of u / makespan
    FORWARD = 10
    PASSED = 11  # operations moved past
    DURATION_U = 12
    DURATION_V = 13
    SLACK_BEFORE_U = 14  # of the job predecessor
    SLACK_AFTER_U = 15  # of the job successor
    SLACK_BEFORE_V = 16
    SLACK_AFTER_V = 17
    SLACK_BEFORE_ON_MACHINE = 18  # of u's machine predecessor
    SLACK_AFTER_ON_MACHINE = 19  # of v's machine successor
    RETURNS = 20  # how often c what it brings back was changed: c / (c + 4)
    MOVED_16_U = 21  # steps t since u was moved: 16 / (16 + t)
    MOVED_16_V = 22
    MOVED_128_U = 23  # 128 / (128 + t)
    MOVED_128_V = 24
    AS_INCUMBENT = 25  # the incumbent has v before u
    SHORTER_PATH = 26  # of the two whose longer one is the estimate, above the makespan
    AS_DRAWN_TO = 27  # the schedule that the search is drawn to has v before u


N_MOVE_FEATURES = len(MoveFeature)
FEWEST_MOVE_FEATURES = 27  # that the policy of a file may know; new ones come last
COMMON = (MoveFeature.GAP, MoveFeature.AGE, MoveFeature.CHOICES)  # the same for all moves of a state

# What a network over graphs is told beside the graph: of an operation, and of a move
N_NODE_FEATURES = 10
ARC_FEATURES = (
    MoveFeature.RECENCY_4, MoveFeature.RECENCY_16, MoveFeature.RECENCY_64, MoveFeature.RECENCY_512,
    MoveFeature.RETURNS, MoveFeature.FORWARD, MoveFeature.PASSED, MoveFeature.AS_INCUMBENT,
    MoveFeature.GAP, MoveFeature.AGE,
)  # fmt: skip
N_ARC_FEATURES = len(ARC_FEATURES)
