from apportion_policy import Cluster, Environment, Organisation, Policy, Queue


def stage(name: str) -> Environment:
    cluster = Cluster(name="main", engine="kai", engine_version="0.17.0")
    return Environment(name=name, admission="audit", clusters=(cluster,))  # AP125


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision", namespaces=("vision",)),),
    environments=(stage("dev"),),  # AP125 called here
)
