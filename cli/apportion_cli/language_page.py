"""The tables of `docs/language.md`: the fields of each declaration, with an example from the page's code blocks.

The page's code blocks are the files of one policy, which a test validates, so an example cannot go stale.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from apportion_policy.declaration import Declaration

_CODE = re.compile(r"^```python\n# (?P<name>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(
    r"(?P<begin>^<!-- fields of (?P<kind>\w+): written by `make docs` -->\n)"
    r".*?"
    r"(?P<end>^<!-- end of fields -->$)",
    re.MULTILINE | re.DOTALL,
)
_MAX_EXAMPLE = 60
"""Maximum length of an example, in characters."""


def declaration_kinds() -> dict[str, type[Declaration]]:
    """Return every kind of declaration that a policy can import, by name."""
    import apportion_policy
    from apportion_policy.declaration import Declaration

    exported = ((name, getattr(apportion_policy, name)) for name in apportion_policy.__all__)
    return {name: kind for name, kind in exported if isinstance(kind, type) and issubclass(kind, Declaration)}


def example_files(page: str) -> dict[str, str]:
    """Return the Python files on the page, text by path."""
    return {block["name"]: block["text"] for block in _CODE.finditer(page)}


def field_examples(files: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the first value of each field in the examples, by the names of its declaration and of the field."""
    examples: dict[tuple[str, str], str] = {}
    for text in files.values():
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                for keyword, value in _arguments(call):
                    examples.setdefault((call.func.id, keyword), value)
    return examples


def with_field_tables(page: str) -> str:
    """Return the page with the table of each declaration regenerated.

    Raises:
        KeyError: If the page names a declaration that does not exist.
    """
    kinds = declaration_kinds()
    examples = field_examples(example_files(page))
    return _TABLE.sub(lambda table: table["begin"] + _table(kinds[table["kind"]], examples) + table["end"], page)


def documented_kinds(page: str) -> set[str]:
    """Return the declarations for which the page has a table."""
    return {table["kind"] for table in _TABLE.finditer(page)}


def _arguments(call: ast.Call) -> Iterator[tuple[str, str]]:
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, ast.unparse(keyword.value).replace("'", '"')


def _table(kind: type[Declaration], examples: Mapping[tuple[str, str], str]) -> str:
    rows = [
        f"| `{name}` | {_cell(field.description or '')} | {_default(field)} | {_example(kind, name, examples)} |"
        for name, field in kind.model_fields.items()
    ]
    return "\n".join((f"| field of `{kind.__name__}` | meaning | default | example |", "|---|---|---|---|", *rows, ""))


def _example(kind: type[Declaration], name: str, examples: Mapping[tuple[str, str], str]) -> str:
    example = examples.get((kind.__name__, name), "")
    if len(example) > _MAX_EXAMPLE:
        return "above"
    return f"`{_cell(example)}`" if example else ""


def _default(field: FieldInfo) -> str:
    from apportion_policy.declaration import Declaration

    if field.is_required():
        return "required"
    default: Any = field.get_default(call_default_factory=True)
    if default is None:
        return "unset"
    if isinstance(default, Declaration):
        return "its defaults"
    if default in ((), {}):
        return "none"
    if isinstance(default, tuple):
        return "above"
    value = getattr(default, "value", default)
    return f"`{_cell(str(value).lower() if isinstance(value, bool) else str(value))}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
