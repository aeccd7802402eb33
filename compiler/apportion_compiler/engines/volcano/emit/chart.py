"""Values of Volcano's Helm chart that the emitted objects rely on, and KubeRay's one value.

Source: installer/helm/chart/volcano/{values.yaml,templates/scheduler.yaml} at ed72c7c81; KubeRay
helm-chart/kuberay-operator/values.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.engines.volcano.emit.scheduler import controller_configuration, scheduler_configuration
from apportion_compiler.engines.volcano.emit.topologies import topology_types
from apportion_compiler.engines.volcano.names import SCHEDULER, SCHEDULER_CONFIG_MAP
from apportion_compiler.ir.program import Program
from apportion_policy.evaluation.sanitized_text import comment_lines

VALUES_FILE = "values.yaml"
KUBERAY_VALUES_FILE = "kuberay-values.yaml"


def artifacts(program: Program) -> Iterator[Artifact]:
    """Yield the files that lie beside the objects."""
    yield _chart_values(program)
    yield _kuberay_values(program)


def _chart_values(program: Program) -> Artifact:
    """Return the values for `helm upgrade volcano … -f values.yaml`."""
    custom: dict[str, object] = {"scheduler_config_override": _Block(scheduler_configuration(program))}
    if topology_types(program):
        custom["controller_config_override"] = yaml.safe_load(controller_configuration(program))
    notes = [
        "Values of Volcano's Helm chart that this cluster's policy relies on; merge them into your own.",
        f"They make the chart write the same {SCHEDULER_CONFIG_MAP} as lies here, so that an upgrade does not undo it.",
        "The release must be called volcano, in the namespace volcano-system: the ConfigMap is named after it.",
    ]
    return Artifact(VALUES_FILE, _document(program, notes, {"custom": custom}))


def _kuberay_values(program: Program) -> Artifact:
    notes = ["Value of KubeRay's Helm chart. One batch scheduler serves a whole KubeRay operator."]
    return Artifact(KUBERAY_VALUES_FILE, _document(program, notes, {"batchScheduler": {"name": SCHEDULER}}))


class _Block(str):
    """Text that is written as it stands, line by line."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """YAML with block scalars."""


def _represent_block(dumper: yaml.SafeDumper, text: _Block) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")


_Dumper.add_representer(_Block, _represent_block)


def _document(program: Program, notes: Sequence[str], values: object) -> str:
    notes = [*notes, GENERATED]
    return comment_lines(notes) + yaml.dump(values, Dumper=_Dumper, sort_keys=False, width=120)
