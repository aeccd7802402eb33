from datetime import date

from apportion_policy import Organisation, Policy, Queue, Resources, Waiver

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(cpu=64, memory="512Gi", gpu=8)),
        Queue(
            id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(cpu=64, memory="512Gi", gpu=12)
        ),
    ),
    waivers=(
        Waiver(
            code="AP201",
            address="queue research",
            reason="four more GPUs arrive in December",
            owner="@acme/platform",
            expires=date(2026, 12, 31),
        ),
        Waiver(  # AP114
            code="AP201",
            address="queue vision",
            reason="four more GPUs arrive in December",
            owner="@acme/platform",
            expires=date(2026, 12, 31),
        ),
        Waiver(  # AP114
            code="AP111",
            address="queue vision",
            reason="kept as a record of the autumn release",
            owner="@acme/platform",
            expires=date(2026, 12, 31),
        ),
    ),
)
