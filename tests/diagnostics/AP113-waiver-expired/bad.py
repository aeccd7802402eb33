# as-of: 2026-11-21
from datetime import date

from apportion_policy import Organisation, Policy, Queue, Resources, Waiver

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(cpu=64, memory="512Gi", gpu=8)),
        Queue(
            id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(cpu=64, memory="512Gi", gpu=8)
        ),
    ),
    waivers=(
        Waiver(  # AP113
            code="AP201",
            address="queue research",
            reason="four more GPUs arrive in October",
            owner="@acme/platform",
            expires=date(2026, 11, 20),
        ),
    ),
)
