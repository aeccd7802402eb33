# as-of: 2026-11-21
from apportion_policy import Organisation, Policy, Queue, Waiver


def waived(code: str) -> Waiver:
    return Waiver(code=code, address="queue vision", reason="agreed", owner="@acme/a", expires="2027-01-31")  # AP123


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision"),),
    waivers=(waived("AP124"),),  # AP123 called here
)
