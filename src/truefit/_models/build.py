"""The objects of a model file, made from its description node by node.

skops has a loader of its own. This one reads the same files, and is stricter: each kind of node makes the listed types
only, arguments are checked before a constructor or compiled code gets them, and one entry is read once. Attributes that
decide what runs (functions, names of methods, files, processes) are checked too.
"""

from __future__ import annotations

import importlib
import inspect
import json
import operator
import re
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from truefit._models.archive import Archive, BrokenModel, array_of, sparse_of
from truefit._models.compiled import (
    TUPLE_STATES,
    check_fitted,
    check_tree,
    checked_generator,
    checked_random_state,
    checked_state,
)
from truefit._models.types import is_allowed, name_of

#: Keys that are no text can be chosen so that a dictionary becomes slow.
OTHER_KEYS: Final = 10_000

_GETTERS: Final = ("operator.attrgetter", "operator.itemgetter", "operator.methodcaller")

Node = dict[str, Any]


class Builder:
    """Makes the objects that nodes stand for; ``trust`` are full names of further types, which the caller trusts."""

    def __init__(self, archive: Archive, trust: Collection[str] = ()) -> None:
        self._archive = archive
        self._trust = trust
        self._made: dict[tuple[int, str, str], Any] = {}
        self._makers: Mapping[str, Callable[[Node, str], Any]] = {
            "ObjectNode": self._object,
            "TreeNode": self._tree,
            "LossNode": self._loss,
            **dict.fromkeys(("FunctionNode", "TypeNode"), self._imported),
            "PartialNode": self._partial,
            "MethodNode": self._method,
            "OperatorFuncNode": self._operator,
            "ConstructorFromReduceNode": self._constructed,
            "DictNode": self._dict,
            "DefaultDictNode": self._defaultdict,
            **dict.fromkeys(("ListNode", "SetNode", "TupleNode"), self._collection),
            "SliceNode": self._slice,
            "JsonNode": self._json,
            **dict.fromkeys(("BytesNode", "BytearrayNode"), self._bytes),
            "NdArrayNode": self._array,
            "MaskedArrayNode": self._masked,
            "DTypeNode": self._dtype,
            "SparseMatrixNode": self._sparse,
            "RandomStateNode": self._random_state,
            "RandomGeneratorNode": self._generator,
        }

    def build(self, node: Any, place: str = "") -> Any:
        """Return the object that a node at an attribute or key ``place`` stands for; nodes of one object share it."""
        if not isinstance(node, dict) or "__loader__" not in node:
            raise BrokenModel("a part of it is missing")
        if not is_allowed(node, place, self._trust):
            raise BrokenModel(f"{ascii(name_of(node))[:80]} is not allowed at {ascii(place)[:40]}")
        kind, name, number = node["__loader__"], name_of(node), node.get("__id__")
        # By type too: a node must not become an object of another type, which may not stand here.
        # Arrays are built again each time: what compiled code indexes by must not be changed through another name.
        shared = kind not in ("NdArrayNode", "SparseMatrixNode")
        key = (number, kind, name) if shared and type(number) is int and number > 0 else None
        if key is not None and key in self._made:
            return self._made[key]
        made = self._makers[kind](node, name)
        if key is not None:
            self._made[key] = made
        return made

    def _class_of(self, node: Node, name: str) -> Any:
        found = self._imported(node, name)
        own = f"{getattr(found, '__module__', None)}.{getattr(found, '__qualname__', None)}"
        if not isinstance(found, type) or (own != name and name not in self._trust):
            raise BrokenModel(f"{name} is not defined there")
        return found

    # Objects, and what is called to make them.

    def _object(self, node: Node, name: str) -> Any:
        kind = self._class_of(node, name)
        state = None if node.get("content") is None else self.build(node["content"])
        if name not in self._trust:
            state = checked_state(name, checked(kind, name, state))
        made = kind.__new__(kind)
        if state is not None:
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
            else:
                made.__dict__.update(state)
        if name not in self._trust:
            check_fitted(name, made)
        return made

    def _tree(self, node: Node, name: str) -> Any:
        arguments, state = self.build(_in(node, "__reduce__", "args")), self.build(_in(node, "content"))
        check_tree(arguments, state)
        tree = self._class_of(node, name)(*arguments)
        tree.__setstate__(state)
        return tree

    def _loss(self, node: Node, name: str) -> Any:
        arguments, state = self.build(_in(node, "__reduce__", "args")), self.build(_in(node, "content"))
        if state or not isinstance(arguments, tuple) or any(type(each) not in (int, float) for each in arguments):
            raise BrokenModel("a loss must be made from numbers alone")
        return self._class_of(node, name)(*arguments)

    def _imported(self, node: Node, name: str) -> Any:
        module, _, own = name.rpartition(".")
        return getattr(importlib.import_module(module), own)

    def _partial(self, node: Node, name: str) -> Any:
        function = _in(node, "content", "func")
        if not isinstance(function, dict) or function.get("__loader__") not in ("FunctionNode", "TypeNode"):
            raise BrokenModel("a partial must be of a function")
        arguments, named = self.build(_in(node, "content", "args")), self.build(_in(node, "content", "kwds"))
        if not isinstance(arguments, tuple) or not isinstance(named, dict):
            raise BrokenModel("a partial has no arguments")
        return partial(self.build(function), *arguments, **named)

    def _constructed(self, node: Node, name: str) -> Any:
        arguments = self.build(_in(node, "content"))
        if not isinstance(arguments, tuple):
            raise BrokenModel("the arguments of a constructor must be a tuple")
        if name == "builtins.frozenset":
            return frozenset(_few(*arguments))
        return self._class_of(node, name)(*arguments)

    def _method(self, node: Node, name: str) -> Any:
        owner = self.build(_in(node, "content", "obj"))
        method = name.rpartition(".")[2]
        if name not in self._trust or f"{type(owner).__module__}.{type(owner).__qualname__}.{method}" != name:
            raise BrokenModel(f"{ascii(name)[:80]} is not a method of its object")
        return getattr(owner, method)

    def _operator(self, node: Node, name: str) -> Any:
        if name not in self._trust or name not in _GETTERS:
            raise BrokenModel(f"{ascii(name)[:80]} is not read from model files")
        return getattr(operator, node["__class__"])(*self.build(_in(node, "attrs")))

    # Collections and plain values.

    def _dict(self, node: Node, name: str) -> Any:
        content, kinds = _in(node, "content"), self.build(_in(node, "key_types"))
        if not isinstance(content, dict) or not isinstance(kinds, list) or len(kinds) != len(content):
            raise BrokenModel("a dictionary has no types for its keys")
        if any(not isinstance(kind, type) or not issubclass(kind, (str, int, float, np.number)) for kind in kinds):
            raise BrokenModel("the keys of a dictionary must be text or numbers")
        if sum(kind is not str for kind in kinds) > OTHER_KEYS:
            raise BrokenModel(f"a dictionary has more than {OTHER_KEYS:,} keys that are not text")
        made = self._class_of(node, name)()
        if type(made) not in (dict, OrderedDict) and any(key.startswith("__") for key in content):
            # Its keys are attributes too.
            raise BrokenModel(f"{name} has a key that is for classes only")
        for kind, (key, each) in zip(kinds, content.items(), strict=True):
            made[kind(key)] = self.build(each, key)
        return made

    def _defaultdict(self, node: Node, name: str) -> Any:
        factory = self.build(_in(node, "content", "default_factory"))
        return defaultdict(factory, self.build(_in(node, "content", "main")))

    def _collection(self, node: Node, name: str) -> Any:
        content = _in(node, "content")
        if not isinstance(content, list):
            raise BrokenModel("a list has no content")
        items = [self.build(each) for each in content]
        kind = self._class_of(node, name)
        if kind is set:
            return set(_few(items))
        # Named tuples take their items one by one.
        return kind(*items) if hasattr(kind, "_fields") else kind(items)

    def _slice(self, node: Node, name: str) -> slice:
        ends = [_in(node, "content", end) for end in ("start", "stop", "step")]
        if any(type(end) not in (int, str, type(None)) for end in ends):
            raise BrokenModel("the ends of a slice must be whole numbers or names")
        return slice(*ends)

    def _json(self, node: Node, name: str) -> Any:
        text = _in(node, "content")
        # Anything that has parts is another kind of node.
        if not isinstance(text, str) or text.lstrip(" \t\r\n")[:1] in ("[", "{", ""):
            raise BrokenModel("a value must be a number, text, true, false or null")
        value = json.loads(text)
        if isinstance(value, str):
            value.encode()  # fails for halves of characters, which could not be printed
        return value

    def _bytes(self, node: Node, name: str) -> Any:
        content = self._archive.read(_entry(node, ".bin"))
        return bytes(content) if node["__loader__"] == "BytesNode" else content

    # Arrays and random numbers.

    def _array(self, node: Node, name: str) -> Any:
        if node.get("type") == "json":
            return self._object_array(node)
        if node.get("type") != "numpy":
            raise BrokenModel("an array is of an unknown kind")
        array = array_of(self._archive.read(_entry(node, ".npy")))
        if name == "numpy.ndarray":
            return array
        if array.shape != ():
            raise BrokenModel("a number has the shape of an array")
        return self._imported(node, name)(array)

    def _object_array(self, node: Node) -> Any:
        content, shape = _in(node, "content"), self.build(_in(node, "shape"))
        if not isinstance(content, list) or not isinstance(shape, tuple) or not shape:
            raise BrokenModel("an array has no content")
        items = [self.build(each) for each in content]
        for _ in shape[1:]:
            if not all(isinstance(row, list) for row in items):
                raise BrokenModel("the content of an array does not have the shape in the file")
            items = [item for row in items for item in row]
        made = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            made[i] = item
        return made.reshape(shape)

    def _masked(self, node: Node, name: str) -> Any:
        data, mask = self.build(_in(node, "content", "data")), self.build(_in(node, "content", "mask"))
        if not isinstance(data, np.ndarray) or not isinstance(mask, (np.ndarray, np.bool_)):
            raise BrokenModel("a masked array must be made of arrays")
        return np.ma.MaskedArray(data, mask)

    def _dtype(self, node: Node, name: str) -> Any:
        array = self.build(_in(node, "content"))
        if not isinstance(array, np.ndarray) or array.size or array.dtype.itemsize > 4096:
            raise BrokenModel("the type of an array must come with an empty array of short items")
        return array.dtype

    def _sparse(self, node: Node, name: str) -> Any:
        return sparse_of(self._archive.read_inner(_entry(node, ".npz")), name)

    def _random_state(self, node: Node, name: str) -> Any:
        state = checked_random_state(self.build(_in(node, "content")))
        made = np.random.RandomState(0)
        made.set_state(state)
        return made

    def _generator(self, node: Node, name: str) -> Any:
        state: Any = checked_generator(self.build(_in(node, "content", "bit_generator")))
        numbers = np.random.PCG64(0)
        numbers.state = state
        return np.random.Generator(numbers)


def _in(node: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(node, dict) or key not in node:
            raise BrokenModel(f"a part of it has no {key!r}")
        node = node[key]
    return node


def _entry(node: Node, ending: str) -> str:
    """Return the entry that a node's array is in: its own, so that none is read twice."""
    name = node.get("file")
    if not isinstance(name, str) or not name.endswith(ending):
        raise BrokenModel("an array has no entry")
    if ending != ".bin" and name != f"{node.get('__id__')}{ending}":
        raise BrokenModel("the entry of an array must have its number")
    return name


def _few(items: Any) -> Any:
    if len(items) > OTHER_KEYS:
        raise BrokenModel(f"a set has more than {OTHER_KEYS:,} items")
    return items


#: Threads or processes that a model may ask for: each takes memory of its own.
MOST_JOBS: Final = 64
_JOBS: Final = ("n_jobs", "_n_threads", "n_threads")
#: Attributes that name the method to be called: "fit" would run what predicting must not.
_METHOD_NAMES: Final = ("stack_method_", "stack_method", "chain_method_", "chain_method", "response_method")
_METHODS: Final = frozenset(
    {"auto", "predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"}
)
#: Attributes that are called with the table: a function, or a partial of one, and no object with methods.
_CALLED: Final = (
    "func", "inverse_func", "predicate", "preprocessor", "tokenizer", "analyzer", "strip_accents",
    "feature_names_out",
)  # fmt: skip
#: It is in a warning of scikit-learn, on the terminal.
_VERSION: Final = re.compile(r"[\w.+-]{1,40}")
_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, partial, type, type(np.mean))
_NOTHING: Final = object()


def checked(kind: type, name: str, state: Any) -> Any:
    """Return the state that an object of a listed type may get, from the state in the file."""
    if state is None or (isinstance(state, tuple) and name in TUPLE_STATES):
        return state
    if not isinstance(state, Mapping):
        raise BrokenModel(f"the attributes of {name} are not a dictionary")
    for key, value in state.items():
        if not isinstance(key, str):
            raise BrokenModel(f"{name} has an attribute whose name is not text")
        # By __array_interface__ numpy would read any address.
        if key.startswith("__"):
            raise BrokenModel(f"{name} has an attribute {ascii(key)[:40]}, which is for classes only")
        _check_not_replaced(kind, key, value)
        _check_attribute(name, key, value)
    # A cache of fits, which predicting has no use for: a folder of the author's choice is not written to.
    return {**state, "memory": None} if state.get("memory") is not None else dict(state)


def _check_not_replaced(kind: type, key: str, value: Any) -> None:
    """Refuse an attribute that stands in for a method or a constant of the class, and so takes its checks away."""
    own = inspect.getattr_static(kind, key, _NOTHING)
    if own is _NOTHING or own is None or isinstance(own, types.MemberDescriptorType):
        return
    if type(own) not in (bool, int, float, str) or own != value:
        raise BrokenModel(f"the attribute {ascii(key)[:40]} would replace one of the class {kind.__name__}")


def _check_attribute(name: str, key: str, value: Any) -> None:
    if key in _JOBS and value is not None and (not _whole(value) or abs(value) > MOST_JOBS):
        raise BrokenModel(f"{key} of {name} must be a whole number up to {MOST_JOBS}")
    if key in _METHOD_NAMES and not _are_methods(value):
        raise BrokenModel(f"{key} of {name} must name a method that predicts")
    if key in _CALLED and not isinstance(value, (*_FUNCTIONS, str, type(None))):
        raise BrokenModel(f"{key} of {name} must be a function")
    if key == "_sklearn_version" and not (isinstance(value, str) and _VERSION.fullmatch(value)):
        raise BrokenModel(f"the version of {name} is not valid")
    if key == "input" and name.startswith("sklearn.feature_extraction.text.") and value != "content":
        raise BrokenModel(f"{name} must read text, not the files that it names")


def _are_methods(value: Any) -> bool:
    named = value if isinstance(value, (list, tuple)) else [value]
    return all(each is None or (isinstance(each, str) and each in _METHODS) for each in named)


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
