# as-of: 2026-11-21
from apportion_policy import Organisation, Policy, Queue, Rules, RuleSeverity, Waiver

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision"),),
    rules=Rules(severity={"AP104": RuleSeverity.WARNING, "AP117": RuleSeverity.OFF, "AP204": "off"}),  # AP123
    waivers=(
        Waiver(  # AP123
            code="AP104", address="environment prod", reason="our names", owner="@acme/platform", expires="2027-01-31"
        ),
    ),
)
