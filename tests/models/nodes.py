"""Nodes of skops' file format, written by hand, and archives of them."""

from __future__ import annotations

import io
import itertools
import json
import zipfile

import numpy as np
import sklearn

#: Numbers that no two nodes share.
NUMBERS = itertools.count(10**12)


def node(kind, name, **fields):
    module, _, own = name.rpartition(".")
    return {"__class__": own, "__module__": module, "__loader__": kind, "__id__": next(NUMBERS), **fields}


def plain(value):
    """Text, a number, true, false or null."""
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def listed(*items):
    return node("ListNode", "builtins.list", content=list(items))


def paired(*items):
    return node("TupleNode", "builtins.tuple", content=list(items))


def mapped(items, key_type="builtins.str"):
    kinds = listed(*[node("TypeNode", key_type) for _ in items])
    return node("DictNode", "builtins.dict", content=items, key_types=kinds)


def function(name):
    return node("FunctionNode", name)


def called(name, *arguments):
    """A constructor with its arguments."""
    return node("ConstructorFromReduceNode", name, content=paired(*arguments))


def thing(name, /, **attributes):
    """An object with its attributes; those that are no nodes are plain values."""
    if name.startswith("sklearn."):
        attributes["_sklearn_version"] = sklearn.__version__
    content = {key: each if isinstance(each, dict) else plain(each) for key, each in attributes.items()}
    return node("ObjectNode", name, content=mapped(content))


def partial(of, *arguments):
    content = {"func": of, "args": paired(*arguments), "kwds": mapped({}), "namespace": plain(None)}
    return node("PartialNode", "functools.partial", content=content)


def method(name, of, which):
    return node("MethodNode", name, content={"func": which, "obj": of})


def array(files, values, **fields):
    """An array, put into the files of the archive."""
    made = node("NdArrayNode", "numpy.ndarray", type="numpy", **fields)
    made["file"] = f"{made['__id__']}.npy"
    buffer = io.BytesIO()
    np.save(buffer, values)
    files[made["file"]] = buffer.getvalue()
    return made


def write(place, schema, files=None, *, protocol=2, compression=zipfile.ZIP_STORED):
    text = schema if isinstance(schema, (str, bytes)) else json.dumps({**schema, "protocol": protocol})
    with zipfile.ZipFile(place, "w", compression, compresslevel=1) as archive:
        for name, content in (files or {}).items():
            archive.writestr(name, content)
        archive.writestr("schema.json", text)
    return place


def edited(place, change, files=None):
    """Write a file anew, with its description changed and some of its entries replaced."""
    with zipfile.ZipFile(place) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries.pop("schema.json"))
    change(schema)
    return write(place, schema, entries | (files(entries) if files else {}))


def found(value, condition):
    """All nodes within a value that meet a condition."""
    if isinstance(value, dict):
        if "__loader__" in value and condition(value):
            yield value
        for each in value.values():
            yield from found(each, condition)
    elif isinstance(value, list):
        for each in value:
            yield from found(each, condition)
