"""koord-scheduler's configuration and the priority classes, as far as they affect quotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.koordinator.names import INSTALLED_CLASSES, SCHEDULER_CONFIG, UNCOUNTED_BANDS
from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.objects import is_a, read
from apportion_compiler.embedded_text import yaml_value
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.plain_objects import items, mapping, name_of, of_kind, text

_NEEDED = {
    "enableCheckParentQuota": "parent limits are not enforced for child quotas",
    "monitorAllQuotas": "lent capacity is not reclaimed from running pods",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The scheduler's settings, as far as they are known."""

    checks_parents: bool


def read_settings(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Settings:
    """Return the settings in the scheduler's configuration, if it is among the objects."""
    for config_map in (*manifests, *existing):
        for arguments in _arguments(config_map):
            return Settings(arguments.get("enableCheckParentQuota") is True)
    return Settings(checks_parents=False)


def settings_verdicts(manifests: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on the scheduler's configuration and on priority classes."""
    for index, manifest in enumerate(manifests):
        for arguments in _arguments(manifest):
            for name, consequence in _NEEDED.items():
                if arguments.get(name) is not True:
                    yield Verdict(
                        Effect.IGNORED,
                        index,
                        f"data.{SCHEDULER_CONFIG}",
                        "Required",
                        f"ElasticQuotaArgs does not set {name}, so {consequence}",
                        f"set {name}: true",
                    )
        if is_a(PriorityClass, manifest) and name_of(manifest) not in INSTALLED_CLASSES:
            yield from _band(index, read(PriorityClass, manifest).value or 0)


def _band(index: int, value: int) -> Iterator[Verdict]:
    for band, (least, most, resources) in UNCOUNTED_BANDS.items():
        if least <= value <= most:
            yield Verdict(
                Effect.IGNORED,
                index,
                "value",
                "Invalid",
                f"pods with a priority from {least} to {most} belong to the priority band {band}: their cpu and memory become "
                f"{resources} resources, which cpu and memory quotas do not count",
                f"use a value outside the range {least} to {most}",
            )


def _arguments(manifest: Manifest) -> Iterator[Mapping[str, object]]:
    """Yield the arguments of the ElasticQuota plugin in the scheduler's ConfigMap, if it is valid."""
    if not of_kind([manifest], "", "ConfigMap") or name_of(manifest) != SCHEDULER_CONFIG:
        return
    written = text(manifest, "data", SCHEDULER_CONFIG) or ""
    try:
        configuration = yaml_value(written)
    except ValueError:
        return
    for profile in items({"configuration": configuration}, "configuration", "profiles"):
        for plugin in items(profile, "pluginConfig"):
            if text(plugin, "name") == "ElasticQuota":
                yield mapping(plugin, "args")
