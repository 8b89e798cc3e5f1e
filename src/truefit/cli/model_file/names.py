"""The names of types in a model file, compared with those that may be there before anything is imported or made."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from truefit.cli.model_file.archive import BrokenModel
from truefit.cli.model_file.types import ALLOWED, PLACES

#: Nodes within nodes. A pipeline of skrub's steps within an average of models comes to 60.
DEPTH: Final = 150
#: Kinds of nodes that are made only where the caller names their type.
ON_TRUST: Final = frozenset({"MethodNode", "OperatorFuncNode", "DefaultDictNode"})


def name_of(node: dict[str, Any]) -> str:
    """Return the full name of what a node stands for; that of a method ends in the method."""
    module, own = node.get("__module__"), node.get("__class__")
    if not isinstance(module, str) or not isinstance(own, str):
        raise BrokenModel("a part of it has no type")
    if "." in own or not own or not module:
        raise BrokenModel("the name of a type is impossible")
    if node["__loader__"] == "MethodNode":
        content = node.get("content")
        method = content.get("func") if isinstance(content, dict) else None
        return f"{module}.{own}.{method}"
    return f"{module}.{own}"


def refused_names(schema: Any, trust: Collection[str]) -> list[str]:
    """Return the names of types in a model that are neither listed nor named by the caller, sorted.

    Parameters
    ----------
    schema : parsed JSON
    trust : collection of str
        Full names that may be there besides.

    Examples
    --------
    >>> node = {"__module__": "os", "__class__": "system", "__loader__": "FunctionNode"}
    >>> refused_names(node, ()), refused_names(node, ["os.system"])
    (['os.system'], [])
    """
    refused: set[str] = set()
    waiting: list[tuple[Any, str, int]] = [(schema, "", 0)]
    while waiting:
        value, place, depth = waiting.pop()
        if depth > DEPTH:
            raise BrokenModel(f"its parts lie more than {DEPTH} deep in each other")
        if isinstance(value, dict):
            if "__loader__" in value:
                depth += 1
                if not is_allowed(value, place, trust):
                    refused.add(name_of(value))
            waiting += [(each, key, depth) for key, each in value.items() if isinstance(each, (dict, list))]
        elif isinstance(value, list):
            waiting += [(each, place, depth) for each in value if isinstance(each, (dict, list))]
    return sorted(refused)


def is_allowed(node: dict[str, Any], place: str, trust: Collection[str]) -> bool:
    """Whether a node's type is listed for this kind of node, or named by the caller.

    Parameters
    ----------
    node : dict
    place : str
        The attribute or key that it stands at.
    trust : collection of str
    """
    kind, name = node["__loader__"], name_of(node)
    if not isinstance(kind, str) or (kind not in ALLOWED and kind not in ON_TRUST):
        raise BrokenModel(f"it has a part of the kind {ascii(kind)[:40]}, which truefit does not read")
    if name in trust:
        return True
    return name in ALLOWED.get(kind, ()) and (name not in PLACES or place in PLACES[name])
