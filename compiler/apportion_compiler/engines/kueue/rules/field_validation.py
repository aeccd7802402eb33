"""Verdicts on one manifest, and checks that several kinds share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from apportion_api.fields import dotted
from apportion_compiler.engine_rules.verdict import ManifestVerdicts, Verdict
from apportion_compiler.kubernetes_names import MAX_NAME, is_label_key, is_label_value
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import kubernetes_value


class FieldVerdicts(ManifestVerdicts):
    """Verdicts on fields that several kinds share."""

    __slots__ = ()

    def one_of(self, value: object, field: str, allowed: tuple[str, ...]) -> Iterator[Verdict]:
        """Yield a verdict if a non-empty value is not one of the allowed values."""
        if value and value not in allowed:
            names = ", ".join(f'"{name}"' for name in allowed)
            yield self.rejected(
                field, "NotSupported", f'"{value}" is not supported; supported values: {names}', f"use {allowed[0]}"
            )

    def bad_labels(self, labels: Mapping[str, str], field: str) -> Iterator[Verdict]:
        """Yield a verdict for each key or value that is not a valid label."""
        for key, value in labels.items():
            if not is_label_key(key):
                yield self.rejected(
                    field, "Invalid", f'"{key}" is not a valid label key', "use a key such as example.com/name"
                )
            if self.is_malformed(dotted((field, key))) or not is_label_value(value):
                yield self.rejected(
                    field,
                    "Invalid",
                    f'"{value}" is not a valid label value',
                    f"use at most {MAX_NAME} letters, digits, dashes, underscores and dots",
                )

    def tolerations(self, tolerations: Sequence[Mapping[str, object]], field: str) -> Iterator[Verdict]:
        """Yield verdicts on tolerations, by the rules of the CRD and the webhook."""
        for number, held in enumerate(tolerations):
            at = f"{field}[{number}]"
            key, operator = held.get("key"), held.get("operator")
            yield from self.one_of(operator, f"{at}.operator", ("Equal", "Exists"))
            yield from self.one_of(held.get("effect"), f"{at}.effect", EFFECTS)
            if not key and operator != "Exists":
                yield self.rejected(
                    f"{at}.operator", "Invalid", "operator must be Exists when 'key' is empty", "set operator: Exists"
                )
            if isinstance(key, str) and key and not is_label_key(key):
                yield self.rejected(
                    f"{at}.key", "Invalid", f'"{key}" is not a valid taint key', "use a key such as example.com/name"
                )
            if held.get("tolerationSeconds") is not None and held.get("effect") != "NoExecute":
                yield self.rejected(
                    f"{at}.effect", "Invalid", "effect must be 'NoExecute' when 'tolerationSeconds' is set",
                    "set effect: NoExecute, or remove tolerationSeconds",
                )  # fmt: skip
            if operator == "Exists" and held.get("value"):
                yield self.rejected(
                    f"{at}.value", "Invalid", "a value must be empty when 'operator' is 'Exists'", "remove value"
                )


EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def quantity(value: object) -> Decimal | None:
    """Return the number of a quantity; None if it is missing or invalid."""
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        return kubernetes_value(value)
    except QuantityError:
        return None
