"""What each page with commands takes for granted: files, programs of others, and exit codes that it does not show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KUBECTL = """
case "$1" in
  get | --context) cat "$HOME/cluster.json" ;;
  apply) case " $* " in *" -f - "*) cat >/dev/null ;; esac ;;
  delete) ;;
  kustomize) test -f "$2/kustomization.yaml" ;;
  *) echo "kubectl: not expected here: $*" >&2; exit 2 ;;
esac
"""
HANDOVER = """
case "$1 $2" in
  "patch config.kai.scheduler") case "$6" in *'"enabled": false'*) ;; *) exit 2 ;; esac ;;
  "create namespace") ;;
  "get bindrequests") echo "No resources found" ;;
  "apply "*) cat >/dev/null ;;
  *) echo "kubectl: not expected here: $*" >&2; exit 2 ;;
esac
"""
# The targets of the Makefile are tiers of CI; here they have to exist.
MAKE = 'exec "$REAL_MAKE" --directory="$REPOSITORY" --just-print "$@" >/dev/null\n'
SUCCEED = "exit 0\n"
DOCKER = 'case "$1" in build) ;; run) shift 3; exec apportion "$@" ;; *) exit 2 ;; esac\n'
SACCT = 'cat "$HOME/jobs.txt"\n'
PYTEST = 'cd "$REPOSITORY" && exec python -m pytest --collect-only --quiet "$@" >/dev/null\n'

_SCAFFOLD = "apportion init . >&2\n"
# One cluster, so that a page need not name it.
_ONE_CLUSTER = _SCAFFOLD + "sed -i '/^DEV = /,/^)/d; s/(DEV, PROD)/(PROD,)/' environments.py\n"
_RENDERED = "apportion compile --quiet >&2\n"
_EXPORT = 'python "$TOOLS/export.py" rendered/prod/main >"$HOME/cluster.json"\n'
_CHANGED = (
    _SCAFFOLD
    + "git init -q -b main . && git add -A && git -c user.name=n -c user.email=n@example.com commit -qm policy\n"
    "sed -i 's/gpu=16/gpu=12/' teams/vision.py\n"
)
_LOAD = """cat >load.yaml <<'EOF'
nodes: [{pool: gpus, count: 4, gpus: 8, cpu: 96, memory: 900Gi}]
workloads:
  - {name: train, kind: RayCluster, namespace: vision, queue: vision, priority: train, pods: 4, gpus: 4, duration: 2h,
     tolerations: [{key: nvidia.com/gpu, operator: Exists}]}
EOF
"""
_OPENB = """mkdir openb
cat >openb/openb_node_list_all_node.csv <<'EOF'
sn,cpu_milli,memory_mib,gpu,model
n-0,64000,262144,2,T4
EOF
cat >openb/openb_pod_list_default.csv <<'EOF'
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p-0,1000,1024,2,1000,,LS,Running,0,5000,0
p-1,1000,1024,1,500,T4,BE,Succeeded,100,4100,100
EOF
"""
_JOB = 'apportion bind vision --env prod --kind Job --gpus 1 --policy "$PWD" -- true >job.yaml\n'


@dataclass(frozen=True, slots=True)
class Page:
    """How the commands of one page are run."""

    setup: str = ""
    programs: Mapping[str, str] = field(default_factory=dict)
    exits: Mapping[str, int] = field(default_factory=dict)
    """Beginning of a command → its exit code, where that is neither 0 nor shown."""
    before: Mapping[str, str] = field(default_factory=dict)
    """A command → what a reader did before it, where the page shows another folder."""
    consoles: bool = True
    """False where another test runs what follows a prompt."""


PAGES: Mapping[str, Page] = {
    "CONTRIBUTING.md": Page(programs={"make": MAKE}),
    "README.md": Page(
        setup='mkdir -p "$HOME/.local/share/apportion/bin" && printf "#!/bin/sh\\n" >"$HOME/.local/share/apportion/bin/pip"\n'
        'chmod +x "$HOME/.local/share/apportion/bin/pip"\n',
        programs={"make": MAKE, "python3": SUCCEED},
        before={
            "apportion validate": 'cd "$START"; cp -r "$REPOSITORY/examples/acme" acme; cd acme\n'
            'sed -i \'s/"h100": 24/"h100": 40/\' teams/vision.py',
            "apportion graph --env prod --cluster gpu-eu --resource gpu/h100": 'cd "$REPOSITORY/examples/acme"',
            "apportion simulate examples/seed-001-kai-vllm --scenario examples/seed-001-kai-vllm/scenario.yaml -o story": (
                'cd "$START"'
            ),
        },
    ),
    "docs/advise.md": Page(setup=_OPENB),
    "docs/bind.md": Page(setup=_ONE_CLUSTER + _JOB, programs={"kubectl": KUBECTL}),
    "docs/delivery.md": Page(setup=_SCAFFOLD + _RENDERED, programs={"kubectl": KUBECTL}),
    "docs/diff.md": Page(setup=_CHANGED, exits={"apportion diff main": 10}),
    "docs/e2e.md": Page(programs={"make": MAKE}),
    "docs/fit.md": Page(
        setup='cp -r "$REPOSITORY/examples/pull-request/policy" policy\n'
        'python "$TOOLS/overused_snapshot.py" "$REPOSITORY/examples/pull-request/snapshot.json" >prod.json\n',
        exits={"apportion fit policy -f small.yaml": 11},
    ),
    "docs/import.md": Page(
        setup=f"mkdir other && cd other\n{_SCAFFOLD}{_RENDERED}{_EXPORT}"
        'sed -i \'s/Engine.KAI, engine_version="[0-9.]*"/Engine.KUEUE, engine_version="0.18.0"/\' environments.py\n'
        "apportion compile --quiet --out ../all >&2; cd ..; cp -r all/prod/main manifests\n",
        programs={"kubectl": KUBECTL},
    ),
    "docs/index.md": Page(
        setup="apportion init quotas >&2\n"
        "sed 's/vision/speech/g; s/VISION/SPEECH/; s/gpu=16/gpu=8/' quotas/teams/vision.py >quotas/teams/speech.py\n"
    ),
    "docs/install.md": Page(
        setup='cp -r "$REPOSITORY"/{pyproject.toml,README.md,CHANGELOG.md,LICENSE,locks,docs,api,policy,compiler,runtime,review,cli} .\n'
        'mkdir -p "$HOME/.local/share/bash-completion/completions"; export PATH="$HOME/.local/bin:$PATH"\n',
        programs={"make": MAKE, "docker": DOCKER, "pip": SUCCEED},
    ),
    "docs/kubectl-plugin.md": Page(programs={"pip": SUCCEED, "kubectl": SUCCEED}, consoles=False),
    "docs/live-scheduler.md": Page(
        setup='python "$TOOLS/decision_log.py" decisions.log\n',
        programs={"helm": "echo '# CRDs'\n", "pip": SUCCEED, "git": SUCCEED, "kubectl": HANDOVER},
        exits={"apportion scheduler --kubeconfig": 3, "apportion scheduler --engine ack": 3},
    ),
    "docs/manifests.md": Page(
        setup=_SCAFFOLD
        + _RENDERED
        + _EXPORT
        + _JOB
        + "cp job.yaml jobs.yaml; cp rendered/prod/main/kai/10-queue/*.yaml queues.yaml\n",
        programs={"kubectl": KUBECTL},
    ),
    "docs/performance.md": Page(programs={"pytest": PYTEST}),
    "docs/pulumi.md": Page(setup=_SCAFFOLD + _RENDERED + _EXPORT, programs={"kubectl": KUBECTL}, consoles=False),
    "docs/recipes/adopt-a-cluster.md": Page(
        setup='cp "$REPOSITORY/tests/data/kueue-clusters/exported.yaml" "$HOME/cluster.json"\n',
        programs={"kubectl": KUBECTL},
    ),
    "docs/recipes/argo-cd.md": Page(setup=_SCAFFOLD + _RENDERED + _EXPORT, programs={"kubectl": KUBECTL}),
    "docs/recipes/flux.md": Page(setup=_SCAFFOLD + _RENDERED + _EXPORT, programs={"kubectl": KUBECTL}),
    "docs/recipes/github.md": Page(programs={"uv": SUCCEED}),
    "docs/recipes/gitlab.md": Page(programs={"uv": SUCCEED}),
    "docs/recipes/queued-provisioning.md": Page(),
    "docs/recipes/serving-beside-training.md": Page(),
    "docs/review.md": Page(
        setup=_CHANGED + _RENDERED + _EXPORT + _LOAD + 'mv "$HOME/cluster.json" prod.json\n',
        # The snapshot is of one of the clusters, so what happens on the other is unknown.
        exits={"apportion review main --max-evictions 0": 11, "apportion review main": 10},
    ),
    "docs/scheduler.md": Page(programs={"make": MAKE}),
    "docs/shares.md": Page(
        setup=_CHANGED + _RENDERED + _EXPORT + 'mv "$HOME/cluster.json" prod.json\n',
        exits={"apportion review main": 10},
    ),
    "docs/simulation.md": Page(
        setup=_SCAFFOLD
        + _RENDERED
        + _LOAD
        + 'mkdir old; cp -r *.py teams old/; sed -i \'s/name="dev"/name="staging"/\' environments.py\n'
    ),
    "docs/snapshot.md": Page(
        setup='cp "$REPOSITORY/examples/snapshots/busy.yaml" "$HOME/cluster.json"\n',
        programs={"kubectl": KUBECTL},
    ),
    "docs/traces.md": Page(setup='. "$TOOLS/traces.sh"\n', programs={"sacct": SACCT, "kubectl": KUBECTL}),
    "docs/tutorial.md": Page(),
}
