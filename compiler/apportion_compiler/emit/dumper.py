"""PyYAML's C dumper for plain data: the same bytes as `CSafeDumper` without anchors, in less than half of the time.

Two of its steps are pure but slow for ten thousand documents: finding a representer for each value, and matching each
scalar against every implicit resolver.
"""

from __future__ import annotations

from typing import Any

import yaml

_STR, _INT, _MAP, _SEQ = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "map", "seq"))
_MAX_KNOWN = 65_536
_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class ManifestDumper(_Base):  # type: ignore[misc]
    """Writes shared values out in full: anchors would tie objects together that are applied one by one."""

    _known: dict[tuple[str, tuple[bool, bool]], str] = {}  # noqa: RUF012 - shared by every dump, and pure.

    def ignore_aliases(self, data: Any) -> bool:
        """Never write an anchor."""
        return True

    def represent_data(self, data: Any) -> yaml.Node:
        """Return the node of a value; what is not plain data goes the long way."""
        kind = type(data)
        if kind is str:
            return yaml.ScalarNode(_STR, data)
        if kind is dict:
            represent = self.represent_data
            pairs = [(represent(key), represent(value)) for key, value in data.items()]
            return yaml.MappingNode(_MAP, pairs, flow_style=False)
        if kind is int:
            return yaml.ScalarNode(_INT, str(data))
        if kind is list or kind is tuple:
            return yaml.SequenceNode(_SEQ, [self.represent_data(item) for item in data], flow_style=False)
        node: yaml.Node = super().represent_data(data)
        return node

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return the tag that a reader would give a scalar."""
        if kind is not yaml.ScalarNode or type(implicit) is not tuple:
            return super().resolve(kind, value, implicit)
        known = self._known.get((value, implicit))
        if known is None:
            known = super().resolve(kind, value, implicit)
            if len(self._known) < _MAX_KNOWN:
                self._known[value, implicit] = known
        return known
