"""Acme's clusters: three departments, nine teams, two GPU models, three environments with seven engines each.

Each team owns one file in `teams/`; to add a team, add a file there.
"""

from departments import DEPARTMENTS
from environments import ENVIRONMENTS
from pools import POOLS, WHOLE_REQUESTS
from priorities import PRIORITY_CLASSES
from rules import WAIVERS

from apportion_policy import Organisation, Policy, Queue, collect

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(*DEPARTMENTS, *collect("teams", Queue)),
    priority_classes=PRIORITY_CLASSES,
    node_pools=POOLS,
    provisioning_plans=(WHOLE_REQUESTS,),
    environments=ENVIRONMENTS,
    waivers=WAIVERS,
)
