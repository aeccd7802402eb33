# as-of: 2026-11-21
from datetime import date

from apportion_policy import Organisation, Policy, Waiver


def until_delivery(address: str) -> Waiver:
    return Waiver(  # AP113
        code="AP201",
        address=address,
        reason="four more GPUs arrive in October",
        owner="@acme/platform",
        expires=date(2026, 10, 31),
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    waivers=(until_delivery("queue research"),),  # AP113 called here
)
