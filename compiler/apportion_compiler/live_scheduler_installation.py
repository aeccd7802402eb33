"""Prerequisites of GPU sharing, compared with an export of the cluster.

Pods that share a GPU need reservation pods: their namespace, which KAI's chart creates, and, if `apportion scheduler`
runs instead of KAI, their image in its configuration. Without them, the pods stay pending.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from apportion_api.kai.names import RESERVATION_APP
from apportion_compiler.embedded_text import yaml_value
from apportion_compiler.ir.program import Program
from apportion_compiler.plain_objects import described, mapping, name_of, of_kind, text

Manifest = Mapping[str, object]
State = Literal["ok", "missing", "bad"]

CONFIGURATION_KIND = "SchedulerConfiguration"


def gpu_reservation(program: Program, export: Sequence[Manifest]) -> Iterator[tuple[str, State, str]]:
    """Yield the name, state and text of each prerequisite of the program's GPU sharing; none if it shares no GPUs."""
    if not program.kai.gpu_sharing:
        return
    yield _namespace(export)
    live = program.kai.live_scheduler
    configurations = list(_configurations(export))
    if live is not None and not configurations:
        yield "live scheduler", "missing", f"the export contains no ConfigMap with a {CONFIGURATION_KIND}"
    for name, document in configurations:
        if document is None:
            yield name, "bad", f"contains a {CONFIGURATION_KIND} that is not valid YAML"
            continue
        image = text(document, "gpuReservation", "image")
        if image is None:
            unset = "gpuReservation.image is not set, so pods that share a GPU stay pending"
            yield name, "bad", f"{unset}: set it to KAI's `resourcereservation` image"
        elif live is not None and live.reservation_image not in (None, image):
            yield name, "bad", f"gpuReservation.image is {image}, but the policy sets {live.reservation_image}"
        else:
            yield name, "ok", f"reserves shared GPUs with {image}"


def _namespace(export: Sequence[Manifest]) -> tuple[str, State, str]:
    name = f"Namespace {RESERVATION_APP}"
    found = [name_of(one) for one in of_kind(export, "", "Namespace")]
    if not found:
        return name, "missing", "the export contains no namespaces"
    if RESERVATION_APP in found:
        return name, "ok", "exists, for the pods that reserve shared GPUs"
    return name, "bad", "does not exist, so pods that share a GPU stay pending; KAI's chart creates it"


def _configurations(export: Sequence[Manifest]) -> Iterator[tuple[str, Mapping[str, object] | None]]:
    """Yield the name of each ConfigMap with a configuration of the live scheduler, and the document; None if it is invalid."""
    for config_map in of_kind(export, "", "ConfigMap"):
        for content in mapping(config_map, "data").values():
            if CONFIGURATION_KIND not in str(content):
                continue
            try:
                document = yaml_value(str(content))
            except ValueError:
                yield described(config_map), None
                continue
            if isinstance(document, Mapping) and document.get("kind") == CONFIGURATION_KIND:
                yield described(config_map), document
