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


# More for a team, and so more for its department than this had; a team that is new.
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


# Everybody has less than before, children less than their parents have now.
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


# Speech works for the product: what it is promised leaves one department and comes to the other.
def moved() -> tuple[Queue, ...]:
    return (
        department(
            "research", amounts(10, 40), amounts(16, 64), vision(), team("robotics", amounts(0, 4), amounts(2, 8))
        ),
        department("product", amounts(12, 48), amounts(16, 64), search(), ads(), speech()),
    )


# Ads goes, with its namespace; robotics takes nothing over.
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
