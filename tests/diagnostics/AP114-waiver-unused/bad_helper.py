from datetime import date

from apportion_policy import Organisation, Policy, Queue, Resources, Waiver


def until_delivery(address: str) -> Waiver:
    return Waiver(  # AP114
        code="AP201",
        address=address,
        reason="four more GPUs arrive in December",
        owner="@acme/platform",
        expires=date(2026, 12, 31),
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision", namespaces=("vision",), guaranteed=Resources(cpu=64, memory="512Gi", gpu=12)),),
    waivers=(until_delivery("queue research"),),  # AP114 called here
)
