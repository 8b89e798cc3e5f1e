"""The types that a model file may hold, by exact name: those listed in ``types.toml``, and what the caller names."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

from truefit._models.archive import BrokenModel

#: The tables of ``types.toml``: full names are listed by the module that defines them.
LISTED: Final[Mapping[str, Any]] = tomllib.loads((files(__package__) / "types.toml").read_text("utf-8"))
#: Classes of truefit under the names that version 0.2 wrote, and where they are defined now.
RENAMED: Final[Mapping[str, str]] = LISTED["renamed"]


def names(*tables: str) -> frozenset[str]:
    """Return the full names in some tables of ``types.toml``.

    Examples
    --------
    >>> sorted(names("losses"))[:2]
    ['sklearn._loss.loss.AbsoluteError', 'sklearn._loss.loss.ExponentialLoss']
    """
    listed: list[tuple[str, Sequence[str]]] = [item for table in tables for item in LISTED[table].items()]
    return frozenset(f"{module}.{name}" for module, own in listed for name in own)


#: Attributes at which alone a type may stand: elsewhere its methods would be called without the checks of its owner.
PLACES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(names("scorers"), frozenset({"scorer_", "scoring", "_curve_scorer", "owner"})),
    "sklearn.tree._tree.Tree": frozenset({"tree_"}),
    **dict.fromkeys(names("losses", "compiled_losses"), frozenset({"_loss", "_base_loss", "closs", "_loss_function_"})),
}

_PLAIN: Final[Mapping[str, frozenset[str]]] = {kind: frozenset(listed) for kind, listed in LISTED["plain"].items()}
#: What each kind of node of a skops file may stand for. A kind that is not here needs the caller's trust in its type.
ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    **_PLAIN,
    "ObjectNode": names("estimators", "values", "scorers", "losses"),
    "LossNode": names("compiled_losses"),
    "FunctionNode": names("functions"),
    "TypeNode": names("scalars", "types"),
    "NdArrayNode": names("scalars") | _PLAIN["NdArrayNode"],
}

#: Nodes within nodes. A pipeline of skrub's steps within an average of models comes to 60.
DEPTH: Final = 150
#: Kinds of nodes that are made only where the caller names their type.
ON_TRUST: Final = frozenset({"MethodNode", "OperatorFuncNode", "DefaultDictNode"})


def name_of(node: dict[str, Any]) -> str:
    """Return the full name, as it is today, of what a node stands for; that of a method ends in the method."""
    module, own = node.get("__module__"), node.get("__class__")
    if not isinstance(module, str) or not isinstance(own, str):
        raise BrokenModel("a part of it has no type")
    if "." in own or not own or not module:
        raise BrokenModel("the name of a type is not valid")
    if node["__loader__"] == "MethodNode":
        content = node.get("content")
        method = content.get("func") if isinstance(content, dict) else None
        return f"{module}.{own}.{method}"
    return RENAMED.get(f"{module}.{own}", f"{module}.{own}")


def refused_names(schema: Any, trust: Collection[str]) -> list[str]:
    """Return the names of types in a model that are neither listed nor named by the caller in ``trust``, sorted.

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
            raise BrokenModel(f"its parts are nested more than {DEPTH} deep")
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
    """Whether a node at an attribute or key ``place`` is of a type listed for its kind, or named by the caller."""
    kind, name = node["__loader__"], name_of(node)
    if not isinstance(kind, str) or (kind not in ALLOWED and kind not in ON_TRUST):
        raise BrokenModel(f"it has a part of the kind {ascii(kind)[:40]}, which truefit does not read")
    if name in trust:
        return True
    return name in ALLOWED.get(kind, ()) and (name not in PLACES or place in PLACES[name])
