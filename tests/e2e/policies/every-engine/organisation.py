"""One organisation in successive states: it grows, shrinks, a team moves, and a team is deleted."""

from apportion_policy import Queue, Resources


def amounts(gpu: int, cpu: int) -> Resources:
    """Return amounts of GPUs and cores, with 4 GiB per core."""
    return Resources(gpu=gpu, cpu=cpu, memory=f"{4 * cpu}Gi")


def team(id_: str, guaranteed: Resources, limit: Resources, *namespaces: str) -> Queue:
    """Declare a leaf, by default with one namespace of its own name."""
    return Queue(id=id_, owner=f"@lab/{id_}", namespaces=namespaces or (id_,), guaranteed=guaranteed, limit=limit)


def department(id_: str, guaranteed: Resources, limit: Resources, *teams: Queue) -> Queue:
    """An inner queue."""
    return Queue(id=id_, owner=f"@lab/{id_}", guaranteed=guaranteed, limit=limit, children=teams)


def vision() -> Queue:
    """The team in its first state."""
    return team("vision", amounts(8, 32), amounts(16, 64))


def speech() -> Queue:
    """The team in its first state."""
    return team("speech", amounts(4, 16), amounts(8, 32))


def search() -> Queue:
    """The team in its first state."""
    return team("search", amounts(4, 16), amounts(8, 32), "search", "search-batch")


def ads() -> Queue:
    """The team in its first state."""
    return team("ads", amounts(2, 8), amounts(4, 16))


def first() -> tuple[Queue, ...]:
    return (
        department("research", amounts(14, 56), amounts(20, 80), vision(), speech()),
        department("product", amounts(8, 32), amounts(12, 48), search(), ads()),
    )


# A larger quota for a team and so for its department, and a new team.
def grown() -> tuple[Queue, ...]:
    return (
        department(
            "research",
            amounts(24, 96),
            amounts(28, 112),
            team("vision", amounts(16, 64), amounts(24, 96)),
            speech(),
            team("robotics", amounts(2, 8), amounts(2, 8)),
        ),
        department("product", amounts(8, 32), amounts(12, 48), search(), ads()),
    )


# All quotas are lower, those of children lower than the parents' new ones.
def shrunk() -> tuple[Queue, ...]:
    return (
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


# Speech moves to the product department, with its guarantee.
def moved() -> tuple[Queue, ...]:
    return (
        department(
            "research", amounts(10, 40), amounts(16, 64), vision(), team("robotics", amounts(0, 4), amounts(2, 8))
        ),
        department("product", amounts(12, 48), amounts(16, 64), search(), ads(), speech()),
    )


# Ads is deleted, with its namespace; robotics receives none of its quota.
def without_ads() -> tuple[Queue, ...]:
    return (
        department(
            "research", amounts(10, 40), amounts(16, 64), vision(), team("robotics", amounts(0, 4), amounts(2, 8))
        ),
        department("product", amounts(12, 48), amounts(16, 64), search(), speech()),
    )


ORGANISATIONS = {
    "first": first,
    "grown": grown,
    "shrunk": shrunk,
    "moved": moved,
    "without-ads": without_ads,
}
