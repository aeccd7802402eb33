"""The computation of a queue's fair share, as shown to a reader."""

from __future__ import annotations

import pytest

from apportion_runtime.core.explain.fair_share import fair_share

from .clusters import job, node, queue, run


def gpu_lines(lines: tuple[str, ...]) -> list[str]:
    """Return the lines about GPUs of the last level."""
    level = lines[max(i for i, line in enumerate(lines) if line.startswith("queue")) :]
    return list(level[1 : next(i for i, line in enumerate(level) if line.startswith("  CPU"))])


CASES = {
    "within the quota": (
        [queue("q", quota=4)],
        {"q": 3},
        [
            "  GPUs: fair share 3 GPUs of the 8 GPUs in the cluster",
            "    requests 3 GPUs; quota 4 GPUs, limit unlimited",
            "    3 GPUs from its quota",
        ],
    ),
    "nothing asked": (
        [queue("q", quota=4), queue("r", quota=4)],
        {"r": 3},
        ["  GPUs: none requested"],
    ),
    "surplus by weight": (
        [queue("q", quota=2, weight=1), queue("r", quota=2, weight=3)],
        {"q": 8, "r": 8},
        [
            "  GPUs: fair share 3 GPUs of the 8 GPUs in the cluster",
            "    requests 8 GPUs; quota 2 GPUs, limit unlimited",
            "    2 GPUs from its quota",
            "    1 GPU in surplus round 1: 25% of 4 GPUs",
            "      weight 1 of 4 at priority 100",
            "    gets no more: no surplus remains",
        ],
    ),
    "what others leave goes round again": (
        [queue("q", quota=0), queue("r", quota=0)],
        {"q": 8, "r": 2},
        [
            "  GPUs: fair share 6 GPUs of the 8 GPUs in the cluster",
            "    requests 8 GPUs; quota 0 GPUs, limit unlimited",
            "    4 GPUs in surplus round 1: 50% of 8 GPUs",
            "      weight 1 of 2 at priority 100",
            "    2 GPUs in surplus round 2: 100% of 2 GPUs",
            "      weight 1 of 2 at priority 100",
            "    gets no more: no surplus remains",
        ],
    ),
    "what rounding leaves": (
        [queue("q", quota=0), queue("r", quota=0, created=1.0), queue("s", quota=0, created=2.0)],
        {"q": 8, "r": 8, "s": 8},
        [
            "  GPUs: fair share 3 GPUs of the 8 GPUs in the cluster",
            "    requests 8 GPUs; quota 0 GPUs, limit unlimited",
            "    2 GPUs in surplus round 1: 33.333% of 8 GPUs",
            "      weight 1 of 3 at priority 100",
            "    1 GPU from rounding",
            "    gets no more: no surplus remains",
        ],
    ),
    "past use": (
        [queue("q", quota=0, usage=(0.0, 0.0, 0.25)), queue("r", quota=0)],
        {"q": 8, "r": 8},
        [
            "  GPUs: fair share 3 GPUs of the 8 GPUs in the cluster",
            "    requests 8 GPUs; quota 0 GPUs, limit unlimited",
            "    3 GPUs in surplus round 1: 42.857% of 8 GPUs",
            "      weight 1 of 2 at priority 100, past usage 25% (k 1)",
            "    gets no more: no surplus remains",
        ],
    ),
    "limit": (
        [queue("q", quota=1, limit=2)],
        {"q": 8},
        [
            "  GPUs: fair share 2 GPUs of the 8 GPUs in the cluster",
            "    requests 8 GPUs; quota 1 GPU, limit 2 GPUs",
            "    1 GPU from its quota",
            "    1 GPU in surplus round 1: 100% of 7 GPUs",
            "      weight 1 of 1 at priority 100",
            "    gets no more: its limit is 2 GPUs",
        ],
    ),
    "no weight": (
        [queue("q", quota=1, weight=0)],
        {"q": 8},
        [
            "  GPUs: fair share 1 GPU of the 8 GPUs in the cluster",
            "    requests 8 GPUs; quota 1 GPU, limit unlimited",
            "    1 GPU from its quota",
            "    gets no more, despite a remainder of 7 GPUs: its weight is 0",
        ],
    ),
    "a higher priority takes all": (
        [queue("q", quota=1), queue("r", quota=1, priority=200)],
        {"q": 8, "r": 8},
        [
            "  GPUs: fair share 1 GPU of the 8 GPUs in the cluster",
            "    requests 8 GPUs; quota 1 GPU, limit unlimited",
            "    1 GPU from its quota",
            "    gets no more: no surplus remains",
        ],
    ),
    "below a parent": (
        [queue("org", quota=4, weight=0), queue("q", "org", quota=2)],
        {"q": 8},
        [
            "  GPUs: fair share 4 GPUs of the 4 GPUs in queue org",
            "    requests 8 GPUs; quota 2 GPUs, limit unlimited",
            "    2 GPUs from its quota",
            "    2 GPUs in surplus round 1: 100% of 2 GPUs",
            "      weight 1 of 1 at priority 100",
            "    gets no more: no surplus remains",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_share_steps_are_explained(name: str) -> None:
    queues, asked, expected = CASES[name]
    session = run([node("n", 8)], queues, [job(f"of-{q}", q, n) for q, n in asked.items()], actions=())
    assert gpu_lines(fair_share(session, "q").lines) == expected


def test_steps_add_up_to_the_share() -> None:
    queues = [queue("q", quota=1), queue("r", quota=2, created=1.0), queue("s", quota=0, priority=50)]
    session = run([node("n", 7)], queues, [job(f"of-{q.name}", q.name, 5) for q in queues], actions=())
    for name, share in session.shares.queues.items():
        for division, r in zip(fair_share(session, name).levels[-1].divisions, (2, 0, 1), strict=True):
            assert sum(step.amount for step in division.steps) == division.fair == share.fair[r]


def test_unknown_queue_is_an_error() -> None:
    with pytest.raises(KeyError):
        fair_share(run([node("n")], [queue("q")], []), "gone")
