"""One organisation in the states that follow each other: it grows, shrinks, a team moves, and a team goes."""

from apportion_policy import Queue, Resources


def amounts(gpu: int, cpu: int) -> Resources:
    """GPUs with cores, and 4 GiB for each core."""
    return Resources(gpu=gpu, cpu=cpu, memory=f"{4 * cpu}Gi")


def team(id_: str, guaranteed: Resources, limit: Resources, *namespaces: str) -> Queue:
    """A leaf, with one namespace of its own name where no other is said."""
    return Queue(id=id_, owner=f"@lab/{id_}", namespaces=namespaces or (id_,), guaranteed=guaranteed, limit=limit)


def department(id_: str, guaranteed: Resources, limit: Resources, *teams: Queue) -> Queue:
    """An inner queue."""
    return Queue(id=id_, owner=f"@lab/{id_}", guaranteed=guaranteed, limit=limit, children=teams)


VISION = team("vision", amounts(8, 32), amounts(16, 64))
SPEECH = team("speech", amounts(4, 16), amounts(8, 32))
SEARCH = team("search", amounts(4, 16), amounts(8, 32), "search", "search-batch")
ADS = team("ads", amounts(2, 8), amounts(4, 16))

FIRST = (
    department("research", amounts(14, 56), amounts(20, 80), VISION, SPEECH),
    department("product", amounts(8, 32), amounts(12, 48), SEARCH, ADS),
)

# More for a team, and so more for its department than this had; a team that is new.
GROWN = (
    department(
        "research",
        amounts(24, 96),
        amounts(28, 112),
        team("vision", amounts(16, 64), amounts(24, 96)),
        SPEECH,
        team("robotics", amounts(2, 8), amounts(2, 8)),
    ),
    department("product", amounts(8, 32), amounts(12, 48), SEARCH, ADS),
)

# Everybody has less than before, children less than their parents have now.
SHRUNK = (
    department(
        "research",
        amounts(8, 32),
        amounts(10, 40),
        team("vision", amounts(4, 16), amounts(8, 32)),
        team("speech", amounts(2, 8), amounts(4, 16)),
        team("robotics", amounts(0, 4), amounts(2, 8)),
    ),
    department(
        "product",
        amounts(4, 16),
        amounts(6, 24),
        team("search", amounts(2, 8), amounts(4, 16), "search", "search-batch"),
        team("ads", amounts(1, 4), amounts(2, 8)),
    ),
)

# Speech works for the product: what it is promised leaves one department and comes to the other.
MOVED = (
    department("research", amounts(10, 40), amounts(16, 64), VISION, team("robotics", amounts(0, 4), amounts(2, 8))),
    department("product", amounts(12, 48), amounts(16, 64), SEARCH, ADS, SPEECH),
)

# Ads goes, with its namespace; robotics takes nothing over.
WITHOUT_ADS = (
    department("research", amounts(10, 40), amounts(16, 64), VISION, team("robotics", amounts(0, 4), amounts(2, 8))),
    department("product", amounts(12, 48), amounts(16, 64), SEARCH, SPEECH),
)

ORGANISATIONS = {
    "first": FIRST,
    "grown": GROWN,
    "shrunk": SHRUNK,
    "moved": MOVED,
    "without-ads": WITHOUT_ADS,
}
