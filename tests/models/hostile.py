"""Hostile model files: each would run, write, delete, connect or use up something if it were loaded as it asks.

A case gets a folder, and writes its file there. ``victim`` is a file that must stay as it is, ``marker`` one that must
not come to be.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile

import numpy as np
from tests.models.nodes import (
    array,
    called,
    function,
    listed,
    mapped,
    method,
    node,
    paired,
    partial,
    plain,
    thing,
    write,
)  # fmt: skip

FUNCTION_TRANSFORMER = "sklearn.preprocessing._function_transformer.FunctionTransformer"
PIPELINE = "sklearn.pipeline.Pipeline"
DUMMY = "sklearn.dummy.DummyClassifier"


def touch(folder):
    return f"touch {folder / 'marker'}"


def _model(**attributes):
    """An estimator that holds something."""
    return thing(DUMMY, **attributes)


def _deep(depth):
    made = plain(1)
    for _ in range(depth):
        made = listed(made)
    return made


def _zeros(size):
    """An array of zeros in numpy's format."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (size,)})
    return buffer.getvalue() + bytes(8 * size)


def _zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


class _Runs:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def _address():
    """What numpy takes for the place of an array in memory."""
    place = {"data": paired(plain(1), plain(True)), "shape": paired(plain(4))}
    return mapped({**place, "typestr": plain("<f8"), "version": plain(3)})


# Code that runs while the file is read.


def shell_command_as_type_of_a_key(folder):
    keys = node("DictNode", "builtins.dict", content={touch(folder): plain(1)}, key_types=listed(function("os.system")))
    return write(folder / "m.skops", keys)


def process_as_type_of_a_list(folder):
    command = [plain("touch"), plain(str(folder / "marker"))]
    return write(folder / "m.skops", _model(x=node("ListNode", "subprocess.Popen", content=command)))


def process_as_type_of_a_set(folder):
    return write(folder / "m.skops", _model(x=node("SetNode", "subprocess.Popen", content=[plain("touch")])))


def process_from_a_constructor(folder):
    command = listed(plain("touch"), plain(str(folder / "marker")))
    return write(folder / "m.skops", _model(x=called("subprocess.Popen", command)))


def emptied_file_from_a_constructor(folder):
    # A class that a module of scikit-learn merely imports.
    file = called("sklearn.datasets._covtype.GzipFile", plain(str(folder / "victim")), plain("wb"))
    return write(folder / "m.skops", _model(x=file))


def emptied_file_from_a_loss(folder):
    arguments = {"args": paired(plain(str(folder / "victim")), plain("wb"))}
    loss = node("LossNode", "sklearn.datasets._covtype.GzipFile", content=mapped({}), __reduce__=arguments)
    return write(folder / "m.skops", _model(x=loss))


def getter_from_a_constructor(folder):
    return write(folder / "m.skops", _model(x=called("sklearn.feature_selection._base.attrgetter", plain("__class__"))))


def groups_that_call_a_getter(folder):
    key = called("sklearn.feature_extraction.text.itemgetter", plain(0))
    return write(folder / "m.skops", _model(x=called("sklearn.utils._testing.groupby", listed(plain("a")), key)))


def getter_of_operators(folder):
    return write(
        folder / "m.skops", _model(x=node("OperatorFuncNode", "operator.methodcaller", attrs=paired(plain("x"))))
    )


def thread_from_a_constructor(folder):
    command = paired(plain(touch(folder)))
    thread = called("sklearn.callback._progressbar.Thread", plain(None), function("os.system"), plain("t"), command)
    return write(folder / "m.skops", _model(x=thread))


def server_from_a_constructor(folder):
    server = called("socketserver.TCPServer", paired(plain("127.0.0.1"), plain(0)), plain(None))
    return write(folder / "m.skops", _model(x=server))


def class_of_truefit_that_starts_workers(folder):
    return write(folder / "m.skops", _model(x=called("truefit._executors.processes.WorkerPool", plain(1), plain(1))))


def class_of_truefit_that_writes(folder):
    return write(
        folder / "m.skops", _model(x=called("truefit._stores.sqlite.SQLiteStore", plain(str(folder / "victim"))))
    )


def object_that_deletes_when_it_goes(folder):
    closer = thing("tempfile._TemporaryFileCloser", name=str(folder / "victim"), delete=True, close_called=True)
    return write(folder / "m.skops", _model(x=closer))


def array_of_another_type(folder):
    files = {}
    command = array(files, np.array(touch(folder)))
    command["__module__"], command["__class__"] = "os", "system"
    return write(folder / "m.skops", _model(x=command), files)


def pickle_in_an_array(folder):
    files = {}
    command = array(files, np.zeros(1))
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    files[command["file"]] = buffer.getvalue() + pickle.dumps(np.array([_Runs(touch(folder))], dtype=object))
    return write(folder / "m.skops", _model(x=command), files)


def pickle_in_place_of_an_array(folder):
    files = {}
    command = array(files, np.zeros(1))
    files[command["file"]] = pickle.dumps(_Runs(touch(folder)))
    return write(folder / "m.skops", _model(x=command), files)


def random_numbers_of_another_kind(folder):
    state = mapped({"bit_generator": plain("seed")})
    content = {"bit_generator": state, "seed_seq": mapped({"entropy": plain(1)})}
    return write(
        folder / "m.skops", _model(x=node("RandomGeneratorNode", "numpy.random._generator.Generator", content=content))
    )


def random_state_of_another_type(folder):
    state = node("RandomStateNode", "tempfile.NamedTemporaryFile", content=mapped({}))
    return write(folder / "m.skops", _model(x=state))


def default_that_calls(folder):
    content = {"main": mapped({}), "default_factory": function("os.abort")}
    return write(folder / "m.skops", _model(x=node("DefaultDictNode", "collections.defaultdict", content=content)))


def function_of_the_first_format(folder):
    made = node("FunctionNode", "numpy.log1p", content={"module_path": "os", "function": "system"})
    return write(folder / "m.skops", thing(FUNCTION_TRANSFORMER, func=made), protocol=0)


def name_with_a_dot(folder):
    made = function("numpy.log1p")
    made["__module__"], made["__class__"] = "numpy", "lib.format.os.system"
    return write(folder / "m.skops", thing(FUNCTION_TRANSFORMER, func=made))


def unknown_kind_of_node(folder):
    return write(folder / "m.skops", _model(x=node("QuantileForestNode", "os.system", content=plain(1))))


# Code that would run when the model predicts.


def function_in_a_transformer(folder):
    steps = listed(paired(plain("a"), thing(FUNCTION_TRANSFORMER, func=function("os.system"))))
    return write(folder / "m.skops", thing(PIPELINE, steps=steps))


def partial_of_a_command(folder):
    func = partial(function("os.system"), plain(touch(folder)))
    return write(folder / "m.skops", thing(FUNCTION_TRANSFORMER, func=func))


def partial_of_a_constructor(folder):
    func = partial(node("TypeNode", "subprocess.Popen"), plain("touch"))
    return write(folder / "m.skops", thing(FUNCTION_TRANSFORMER, func=func))


def builtin_as_a_type(folder):
    return write(folder / "m.skops", thing(FUNCTION_TRANSFORMER, func=node("TypeNode", "builtins.exec")))


def bound_method_of_a_path(folder):
    path = called("pathlib.PosixPath", plain(str(folder / "marker")))
    return write(folder / "m.skops", _model(predict=method("pathlib.PosixPath", path, "touch")))


def bound_method_of_an_estimator(folder):
    dummy = thing(DUMMY, strategy="prior")
    return write(folder / "m.skops", thing(FUNCTION_TRANSFORMER, func=method(DUMMY, dummy, "fit")))


def scorer_that_calls_a_method_of_the_table(folder):
    scorer = thing("sklearn.metrics._scorer._Scorer", _response_method="to_csv")
    return write(folder / "m.skops", thing(FUNCTION_TRANSFORMER, func=scorer, kw_args=mapped({"X": plain("marker")})))


def scorer_under_the_number_of_another(folder):
    scorer = thing("sklearn.metrics._scorer._Scorer", _response_method="to_csv")
    func = thing(FUNCTION_TRANSFORMER) | {"__id__": scorer["__id__"]}
    return write(folder / "m.skops", thing(FUNCTION_TRANSFORMER, scoring=scorer, func=func))


def vectorizer_that_reads_files(folder):
    return write(folder / "m.skops", thing("sklearn.feature_extraction.text.CountVectorizer", input="filename"))


def stacking_that_fits(folder):
    stacking = thing("sklearn.ensemble._stacking.StackingClassifier", stack_method_=listed(plain("fit")))
    return write(folder / "m.skops", stacking)


def threshold_that_fits(folder):
    fixed = thing("sklearn.model_selection._classification_threshold.FixedThresholdClassifier", response_method="fit")
    return write(folder / "m.skops", fixed)


def replaced_method(folder):
    replaced = {"_validate_X_predict": function("numpy.mean")}
    return write(folder / "m.skops", thing("sklearn.tree._classes.DecisionTreeClassifier", **replaced))


def many_processes(folder):
    return write(folder / "m.skops", thing("sklearn.compose._column_transformer.ColumnTransformer", n_jobs=100_000))


def downloaded_model(folder):
    encoder = thing("skrub._llm_encoder.TextEncoder", model_name="someone/something")
    return write(folder / "m.skops", encoder)


def data_operations(folder):
    return write(folder / "m.skops", thing("skrub._data_ops._estimator.SkrubLearner", data_op=plain(1)))


# Files that use up memory or time, or crash.


def deep_nodes(folder):
    return write(folder / "m.skops", _deep(160))


def deep_text(folder):
    return write(folder / "m.skops", '{"a":' * 100_000 + "1" + "}" * 100_000)


def deep_value(folder):
    value = node("JsonNode", "builtins.str", content="[" * 100_000 + "]" * 100_000)
    return write(folder / "m.skops", _model(x=value))


def zeros_that_compress(folder):
    files = {}
    made = array(files, np.zeros(1))
    files[made["file"]] = _zeros(2**24)
    return write(folder / "m.skops", _model(x=made), files, compression=zipfile.ZIP_DEFLATED)


def zeros_read_many_times(folder):
    files = {}
    made = array(files, np.zeros(1))
    files[made["file"]] = _zeros(2**20)
    again = [{**made, "__id__": 10**9 + i} for i in range(1_000)]
    return write(folder / "m.skops", _model(x=listed(*again)), files, compression=zipfile.ZIP_DEFLATED)


def zeros_in_an_archive_in_the_archive(folder):
    matrix = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy")
    matrix["file"] = f"{matrix['__id__']}.npz"
    files = {matrix["file"]: _zipped(data=_zeros(2**24), indices=_zeros(1), indptr=_zeros(1), shape=_zeros(2))}
    return write(folder / "m.skops", _model(x=matrix), files)


def array_that_says_more_than_it_has(folder):
    files = {}
    made = array(files, np.zeros(1))
    files[made["file"]] = _zeros(1).replace(b"(1,),", b"(99999999999,),", 1)
    return write(folder / "m.skops", _model(x=made), files)


def blanks_that_compress(folder):
    return write(folder / "m.skops", b" " * 2**27 + b"{}", compression=zipfile.ZIP_DEFLATED)


def lines_that_compress(folder):
    return write(folder / "m.skops", b"[" + b"1,\n" * 5_000_000 + b"1]", compression=zipfile.ZIP_DEFLATED)


def lists_that_compress(folder):
    return write(folder / "m.skops", b"[" + b"[],[],[],[]," * 4_000_000 + b"1]", compression=zipfile.ZIP_DEFLATED)


def many_entries(folder):
    place = write(folder / "m.skops", _model(), {"1.npy": b""})
    content = place.read_bytes()
    entry = content[content.index(b"PK\x01\x02") :][:51]
    start, entries = content.index(b"PK\x01\x02"), entry * 150_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65_535, 65_535, len(entries), start, 0)
    place.write_bytes(content[:start] + entries + end)
    return place


def set_of_numbers_of_one_hash(folder):
    numbers = [plain(i * (2**61 - 1)) for i in range(1, 20_000)]
    return write(folder / "m.skops", _model(x=node("SetNode", "builtins.set", content=numbers)))


def number_of_many_digits(folder):
    value = node("JsonNode", "builtins.str", content="9" * 1_000_000)
    return write(folder / "m.skops", _model(x=value))


def sparse_matrix_with_indices_beyond_it(folder):
    matrix = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy")
    matrix["file"] = f"{matrix['__id__']}.npz"
    parts = {"data": np.ones(1), "indices": np.array([10**6]), "indptr": np.array([0, 1]), "shape": np.array([1, 2])}
    saved = {}
    for name, values in parts.items():
        buffer = io.BytesIO()
        np.save(buffer, values)
        saved[name] = buffer.getvalue()
    return write(folder / "m.skops", _model(x=matrix), {matrix["file"]: _zipped(**saved)})


def random_state_that_points_beyond_itself(folder):
    files = {}
    state = {"key": array(files, np.zeros(624, dtype=np.uint32)), "pos": plain(10**6)}
    content = {
        "bit_generator": plain("MT19937"), "state": mapped(state), "has_gauss": plain(0), "gauss": plain(0.0),
    }  # fmt: skip
    made = node("RandomStateNode", "numpy.random.mtrand.RandomState", content=mapped(content))
    return write(folder / "m.skops", _model(random_state=made), files)


def address_as_an_array(folder):
    made = thing("sklearn._loss.link.Interval", low=0, __array_interface__=_address())
    return write(folder / "m.skops", thing("sklearn.linear_model._ridge.Ridge", coef_=made, intercept_=0.0))


def address_in_a_dictionary_with_attributes(folder):
    made = mapped({"__array_interface__": _address()}) | {"__module__": "sklearn.utils._bunch", "__class__": "Bunch"}
    return write(folder / "m.skops", thing("sklearn.linear_model._ridge.Ridge", coef_=made, intercept_=0.0))


def attributes_in_pairs(folder):
    """Attributes that are not a dictionary, and would be set without a look at them."""
    pairs = paired(paired(plain("predict"), function("numpy.mean")), paired(plain("memory"), plain("marker")))
    return write(folder / "m.skops", node("ObjectNode", "truefit._core.stages.AtStage", content=pairs))


def truth_values_that_are_none(folder):
    files = {}
    made = array(files, np.ones(8, dtype=bool))
    files[made["file"]] = files[made["file"]][:-8] + bytes([255] * 8)
    return write(folder / "m.skops", _model(x=made), files)


def text_beyond_all_characters(folder):
    files = {}
    made = array(files, np.array(["a"]))
    files[made["file"]] = files[made["file"]][:-4] + b"\xff\xff\xff\x7f"
    return write(folder / "m.skops", _model(classes_=made), files)


def loss_as_a_kernel(folder):
    loss = thing("sklearn._loss.loss.HalfSquaredError")
    return write(folder / "m.skops", thing("sklearn.kernel_ridge.KernelRidge", kernel=loss))


def tree_as_a_step(folder):
    files = {}
    arguments = {"args": paired(plain(1), array(files, np.array([1])), plain(1))}
    tree = node("TreeNode", "sklearn.tree._tree.Tree", __reduce__=arguments, content=mapped({}))
    return write(folder / "m.skops", thing(PIPELINE, steps=listed(paired(plain("tree"), tree))), files)


def escapes_in_a_version(folder):
    made = thing(DUMMY)
    made["content"]["content"]["_sklearn_version"] = plain("\x1b]0;title\x07")
    return write(folder / "m.skops", made)


# Files that are broken.


def no_archive(folder):
    (folder / "m.skops").write_bytes(b"PK\x03\x04 this is no archive")
    return folder / "m.skops"


def empty_file(folder):
    (folder / "m.skops").write_bytes(b"")
    return folder / "m.skops"


def cut_off(folder):
    place = write(folder / "m.skops", _model(strategy="prior"))
    place.write_bytes(place.read_bytes()[:-30])
    return place


def other_bytes(folder):
    place = write(folder / "m.skops", _model(strategy="prior"))
    content = bytearray(place.read_bytes())
    content[60:80] = bytes(20)
    place.write_bytes(content)
    return place


def no_description(folder):
    with zipfile.ZipFile(folder / "m.skops", "w") as archive:
        archive.writestr("truefit.json", "{}")
    return folder / "m.skops"


def description_of_something_else(folder):
    return write(folder / "m.skops", json.dumps([1, 2]))


def newer_format(folder):
    return write(folder / "m.skops", _model(), protocol=99)


def entry_outside(folder):
    return write(folder / "m.skops", _model(), {"../../marker": b"x"})


def packed_otherwise(folder):
    return write(folder / "m.skops", _model(), compression=zipfile.ZIP_LZMA)


def notes_that_are_none(folder):
    return write(folder / "m.skops", _model(strategy="prior"), {"truefit.json": b'{"columns": [1], "target": 2}'})


def part_that_is_missing(folder):
    return write(folder / "m.skops", {**_model(), "content": {"a": 1}})


def attribute_of_no_name(folder):
    made = node("ObjectNode", DUMMY, content=mapped({"1": plain(1)}, "builtins.int"))
    return write(folder / "m.skops", made)


def escapes_in_a_name(folder):
    return write(folder / "m.skops", _model(x=function("os.\x1b[2Jsystem\n")))


CASES = {
    name: case
    for name, case in list(globals().items())
    if getattr(case, "__module__", None) == __name__ and not name.startswith("_") and name != "touch"
}

#: Some that a loader which trusts every type would run.
FIRING = (
    "shell_command_as_type_of_a_key",
    "process_as_type_of_a_list",
    "process_from_a_constructor",
    "emptied_file_from_a_constructor",
    "emptied_file_from_a_loss",
)

#: Why those are refused that hold listed types only; the others are refused for a type, which is named.
REASONS = {
    "pickle_in_an_array": "must be of numbers, times or text",
    "pickle_in_place_of_an_array": "the magic string is not correct",
    "random_numbers_of_another_kind": "a random generator is not the result of a fit",
    "function_of_the_first_format": "version 0 of skops' format",
    "name_with_a_dot": "the name of a type is not valid",
    "unknown_kind_of_node": "a part of the kind 'QuantileForestNode'",
    "scorer_under_the_number_of_another": "func of",
    "vectorizer_that_reads_files": "must read text",
    "stacking_that_fits": "must name a method that predicts",
    "threshold_that_fits": "must name a method that predicts",
    "replaced_method": "'_validate_X_predict' would replace",
    "many_processes": "must be a whole number up to 64",
    "deep_nodes": "more than 150 deep",
    "deep_text": "too deep",
    "deep_value": "must be a number, text, true, false or null",
    "zeros_that_compress": "too large for a file of this size",
    "zeros_read_many_times": "must have its number",
    "zeros_in_an_archive_in_the_archive": "too large for a file of this size",
    "array_that_says_more_than_it_has": "does not have the size in its header",
    "blanks_that_compress": "too large for a file of this size",
    "lines_that_compress": "too large for a file of this size",
    "lists_that_compress": "too large for a file of this size",
    "many_entries": "its list of entries is too long",
    "set_of_numbers_of_one_hash": "more than 10,000 items",
    "number_of_many_digits": "the limit (4300 digits)",
    "sparse_matrix_with_indices_beyond_it": "indices must be < 2",
    "random_state_that_points_beyond_itself": "a random state is not the result of a fit",
    "address_as_an_array": "which is for classes only",
    "address_in_a_dictionary_with_attributes": "a key that is for classes only",
    "attributes_in_pairs": "are not a dictionary",
    "truth_values_that_are_none": "values that are not of its type",
    "text_beyond_all_characters": "values that are not of its type",
    "escapes_in_a_version": "the version of",
    "no_archive": "not a zip file",
    "empty_file": "not a zip file",
    "cut_off": "not a zip file",
    "other_bytes": "Bad CRC-32",
    "no_description": "no entry 'schema.json'",
    "description_of_something_else": "its description was not written by skops",
    "newer_format": "version 99 of skops' format",
    "entry_outside": "skops writes no entry '../../marker'",
    "packed_otherwise": "must be stored or deflated",
    "notes_that_are_none": "the notes of truefit are not valid",
    "part_that_is_missing": "a part of it is missing",
    "attribute_of_no_name": "has an attribute whose name is not text",
}
