"""What compiled code gets from a model file.

scikit-learn's compiled code trusts fitted attributes: an index out of range reads or writes memory that is not the
model's. So the attributes that it indexes by are checked here. A model that scikit-learn fitted passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from scipy.sparse import issparse

from truefit._models.archive import BrokenModel


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise BrokenModel(f"{what} is not the result of a fit")


def _is_whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and low <= int(value) <= high


def _is_array(value: Any, *, kinds: str, ndim: int) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in kinds and value.ndim == ndim


def _within(values: Any, low: int, high: int) -> bool:
    """Whether all values are at least low and less than high."""
    return not values.size or (int(values.min()) >= low and int(values.max()) < high)


def _all_below(parents: Any, *children: Any, count: int) -> bool:
    """Whether children come after their parents, so that every path ends."""
    return all(bool(np.all((child > parents) & (child < count))) for child in children)


# Before an object is made.


def check_tree(arguments: Any, state: Any) -> None:
    """Check what a decision tree is made from."""
    what = "a decision tree"
    _require(isinstance(arguments, tuple) and len(arguments) == 3 and isinstance(state, dict), what)
    features, classes, outputs = arguments
    _require(_is_whole(features, 0, 2**31) and _is_whole(outputs, 1, 2**20), what)
    _require(_is_array(classes, kinds="iu", ndim=1) and len(classes) == outputs, what)
    _require(_within(classes, 1, 2**31), what)
    nodes, values = state.get("nodes"), state.get("values")
    _require(type(nodes) is np.ndarray and nodes.ndim == 1 and nodes.dtype.fields, what)
    _require({"left_child", "right_child", "feature"} <= set(nodes.dtype.names or ()), what)
    count = len(nodes)
    _require(count and _is_whole(state.get("node_count"), count, count), what)
    _require(_is_whole(state.get("max_depth"), 0, count), what)
    _require(_is_array(values, kinds="f", ndim=3) and values.shape == (count, outputs, int(classes.max())), what)
    inner = np.flatnonzero(nodes["left_child"] != -1)
    _require(_all_below(inner, nodes["left_child"][inner], nodes["right_child"][inner], count=count), what)
    _require(_within(nodes["feature"][inner], 0, int(features)), what)


def _check_boosted_tree(state: Any) -> None:
    what = "a tree of histogram gradient boosting"
    _require(isinstance(state, dict), what)
    nodes = state.get("nodes")
    _require(type(nodes) is np.ndarray and nodes.ndim == 1 and nodes.dtype.fields and len(nodes), what)
    _require({"left", "right", "feature_idx", "is_leaf", "is_categorical"} <= set(nodes.dtype.names or ()), what)
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    children = [nodes[side][inner].astype(np.int64) for side in ("left", "right")]
    _require(_all_below(inner, *children, count=len(nodes)), what)
    _require(_within(nodes["feature_idx"], 0, 2**31), what)
    by_category = nodes["bitset_idx"][inner][nodes["is_categorical"][inner] != 0]
    for key in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
        bits = state.get(key)
        _require(_is_array(bits, kinds="u", ndim=2) and bits.shape[1] == 8, what)
        _require(_within(by_category, 0, len(bits)), what)


def _check_metric(state: Any) -> None:
    what = "a distance"
    _require(isinstance(state, tuple) and len(state) == 3 and isinstance(state[0], float), what)
    # Weights would have to fit the columns of every table.
    _require(_is_array(state[1], kinds="f", ndim=1) and not state[1].any(), what)
    _require(_is_array(state[2], kinds="f", ndim=2) and not state[2].any(), what)


def _check_minkowski(state: Any) -> None:
    _check_metric(state)
    _require(not state[1].size, "a distance with weights")


def _neighbour_tree(bounds: int) -> Callable[[Any], None]:
    def check(state: Any) -> None:
        what = "a tree of neighbours"
        _require(isinstance(state, tuple) and len(state) == 13, what)
        data, order, nodes, limits, leaf, levels, count, *_, metric, weights = state
        _require(_is_array(data, kinds="f", ndim=2) and len(data), what)
        _require(_is_array(order, kinds="i", ndim=1) and len(order) == len(data) and _within(order, 0, len(data)), what)
        _require(type(nodes) is np.ndarray and nodes.ndim == 1 and nodes.dtype.fields, what)
        _require({"idx_start", "idx_end", "is_leaf"} <= set(nodes.dtype.names or ()), what)
        _require(_is_whole(levels, 1, 40) and _is_whole(count, len(nodes), len(nodes)), what)
        _require(len(nodes) == 2 ** int(levels) - 1 and _is_whole(leaf, 1, 2**31), what)
        _require(_is_array(limits, kinds="f", ndim=3) and limits.shape == (bounds, len(nodes), data.shape[1]), what)
        starts, ends = nodes["idx_start"], nodes["idx_end"]
        _require(_within(starts, 0, len(data) + 1) and _within(ends, 0, len(data) + 1) and (starts <= ends).all(), what)
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        _require(_within(inner, 0, len(nodes) // 2), what)
        _require(type(metric).__module__ == "sklearn.metrics._dist_metrics", what)
        _require(weights is None or (_is_array(weights, kinds="f", ndim=1) and len(weights) == len(data)), what)

    return check


def _check_spline(state: Any) -> None:
    what = "a spline"
    _require(isinstance(state, dict), what)
    # scipy has renamed them.
    _require(("_t" in state) + ("t" in state) == 1 and ("_c" in state) + ("c" in state) == 1, what)
    knots, weights, degree = state.get("_t", state.get("t")), state.get("_c", state.get("c")), state.get("k")
    _require(_is_array(knots, kinds="f", ndim=1) and knots.dtype == np.float64 and _is_whole(degree, 0, 20), what)
    _require(type(weights) is np.ndarray and weights.dtype == np.float64 and weights.ndim > 0, what)
    _require(len(knots) >= 2 * int(degree) + 2 and len(weights) >= len(knots) - int(degree) - 1, what)
    _require(bool(np.isfinite(knots).all()) and bool((np.diff(knots) >= 0).all()), what)
    _require(state.get("_delegate_to") is None, what)


def _check_spline_and_its_array(state: Any) -> None:
    """From scipy 1.18 on a spline holds another one, which was checked, and an array of the kind that it returns."""
    what = "a spline"
    _require(isinstance(state, tuple) and len(state) == 2 and type(state[1]) is np.ndarray, what)
    kind = type(state[0])
    _require((kind.__module__, kind.__name__) == ("scipy.interpolate._bsplines", "_BSpline"), what)


_DICT_STATES: Final[Mapping[str, Callable[[Any], None]]] = {
    "scipy.interpolate._bsplines.BSpline": _check_spline,
    "scipy.interpolate._bsplines._BSpline": _check_spline,
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": _check_boosted_tree,
}
#: Compiled types, and others whose state is a tuple.
TUPLE_STATES: Final[Mapping[str, Callable[[Any], None]]] = {
    "scipy.interpolate._bsplines.BSpline": _check_spline_and_its_array,
    "sklearn.metrics._dist_metrics.ChebyshevDistance64": _check_metric,
    "sklearn.metrics._dist_metrics.EuclideanDistance64": _check_metric,
    "sklearn.metrics._dist_metrics.ManhattanDistance64": _check_metric,
    "sklearn.metrics._dist_metrics.MinkowskiDistance64": _check_minkowski,
    "sklearn.neighbors._ball_tree.BallTree": _neighbour_tree(1),
    "sklearn.neighbors._kd_tree.KDTree": _neighbour_tree(2),
}


def checked_state(name: str, state: Any) -> Any:
    """Return the state that an object of a listed type may get, with arrays of its own where they are checked."""
    # Every name that is here is checked, by the other check if its state is of the wrong kind: that one refuses it.
    first, then = (TUPLE_STATES, _DICT_STATES) if isinstance(state, tuple) else (_DICT_STATES, TUPLE_STATES)
    check = first.get(name, then.get(name))
    if check is None:
        return state
    check(state)
    if isinstance(state, tuple):
        return tuple(_own(each) for each in state)
    return {key: _own(each) for key, each in state.items()}


def _own(value: Any) -> Any:
    return value.copy() if type(value) is np.ndarray else value


def checked_random_state(state: Any) -> dict[str, Any]:
    """Return the state of a Mersenne twister: 624 words, and a position among them."""
    what = "a random state"
    _require(isinstance(state, dict) and state.get("bit_generator") == "MT19937", what)
    words = state.get("state")
    _require(isinstance(words, dict) and _is_array(words.get("key"), kinds="u", ndim=1), what)
    _require(len(words["key"]) == 624 and words["key"].dtype == np.uint32 and _is_whole(words.get("pos"), 0, 624), what)
    _require(_is_whole(state.get("has_gauss"), 0, 1) and isinstance(state.get("gauss"), (int, float)), what)
    return {
        "bit_generator": "MT19937",
        "state": {"key": words["key"], "pos": int(words["pos"])},
        "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }


def checked_generator(state: Any) -> dict[str, Any]:
    """Return the state of numpy's default generator."""
    what = "a random generator"
    _require(isinstance(state, dict) and state.get("bit_generator") == "PCG64", what)
    words = state.get("state")
    _require(isinstance(words, dict), what)
    _require(all(_is_whole(words.get(key), 0, 2**128 - 1) for key in ("state", "inc")), what)
    _require(_is_whole(state.get("has_uint32"), 0, 1) and _is_whole(state.get("uinteger"), 0, 2**32 - 1), what)
    return {
        "bit_generator": "PCG64",
        "state": {"state": int(words["state"]), "inc": int(words["inc"])},
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }


# After an estimator is made: what its parts are to each other.


def _check_decision_tree(made: Any, what: str) -> None:
    from truefit._sklearn import Tree

    _require(isinstance(made.tree_, Tree), what)
    _require(_is_whole(getattr(made, "n_features_in_", None), made.tree_.n_features, made.tree_.n_features), what)


def _check_trees(what: str, members: Iterable[Any], features: Any) -> None:
    from sklearn.tree import BaseDecisionTree

    for member in members:
        _require(isinstance(member, BaseDecisionTree) and hasattr(member, "tree_"), what)
        _require(_is_whole(features, member.tree_.n_features, member.tree_.n_features), what)


def _check_forest(made: Any, what: str) -> None:
    _require(isinstance(made.estimators_, list) and made.estimators_, what)
    _check_trees(what, made.estimators_, getattr(made, "n_features_in_", None))


def _check_gradient_boosting(made: Any, what: str) -> None:
    stages = made.estimators_
    _require(type(stages) is np.ndarray and stages.dtype == object and stages.ndim == 2 and stages.size, what)
    _check_trees(what, stages.ravel(), getattr(made, "n_features_in_", None))
    _require(all(member.tree_.n_outputs == member.tree_.max_n_classes == 1 for member in stages.ravel()), what)
    # Compiled code adds one column for each tree of a stage to these.
    start = made._raw_predict_init(np.zeros((1, made.n_features_in_), dtype=np.float32))
    _require(start.shape == (1, stages.shape[1]), what)


def _check_isolation_forest(made: Any, what: str) -> None:
    columns = made.estimators_features_
    _require(len(columns) == len(made.estimators_), what)
    for member, chosen in zip(made.estimators_, columns, strict=True):
        _check_trees(what, [member], len(chosen))
    if made._max_features == made.n_features_in_:
        _check_trees(what, made.estimators_, made.n_features_in_)


def _check_histogram_boosting(made: Any, what: str) -> None:
    from truefit._sklearn import TreePredictor

    features: Any = getattr(made, "n_features_in_", None)
    bins = made._bin_mapper
    _require(type(bins).__name__ == "_BinMapper" and _is_whole(features, 1, 2**31), what)
    for tree in (tree for stage in made._predictors for tree in stage):
        _require(type(tree) is TreePredictor and _within(tree.nodes["feature_idx"], 0, int(features)), what)
    categorical, thresholds = bins.is_categorical_, bins.bin_thresholds_
    _require(_is_array(categorical, kinds="biu", ndim=1) and len(categorical) == len(thresholds) == features, what)
    for is_category, values in zip(categorical, thresholds, strict=True):
        _require(type(values) is np.ndarray and values.dtype.kind in "iuf", what)
        if is_category and values.size:
            _require(float(values.min()) >= 0 and float(values.max()) < 256, what)
    if made._preprocessor is not None:
        _check_encoded_columns(what, made._preprocessor, int(features))


def _check_encoded_columns(what: str, columns: Any, features: int) -> None:
    """Check that as many columns come out as go in: categories encoded, the others as they are."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    _require(type(columns) is ColumnTransformer and getattr(columns, "n_features_in_", None) == features, what)
    seen = np.zeros(features, dtype=int)
    places = columns._transformer_to_input_indices
    for name, transformer, chosen in columns.transformers_:
        _require(np.array_equal(np.flatnonzero(np.asarray(chosen)), np.asarray(places[name])), what)
        if isinstance(transformer, str):
            _require(transformer == "drop" and not any(chosen), what)
            continue
        _require(type(transformer) in (OrdinalEncoder, FunctionTransformer), what)
        if type(transformer) is FunctionTransformer:
            function = getattr(transformer.func, "func", None)
            _require(getattr(function, "__name__", "") == "check_array" and not transformer.kw_args, what)
        _require(_is_array(chosen, kinds="b", ndim=1) and len(chosen) == features, what)
        seen += chosen
    _require((seen == 1).all(), what)


def _check_neighbours(made: Any, what: str) -> None:
    rows, tree = made._fit_X, getattr(made, "_tree", None)
    _require(type(rows) is np.ndarray or issparse(rows), what)
    # Others, as the norms of rows, are indexed by row.
    _require(set(getattr(made, "effective_metric_params_", None) or ()) <= {"p", "w", "V", "VI"}, what)
    _require(rows.ndim == 2 and rows.shape[1] == getattr(made, "n_features_in_", None), what)
    if tree is not None:
        _require(type(tree).__module__ in ("sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree"), what)
        _require(np.asarray(tree.data).shape == rows.shape, what)
    if hasattr(made, "_y"):
        _require(type(made._y) is np.ndarray and made._y.ndim > 0 and len(made._y) == rows.shape[0], what)
        if hasattr(made, "classes_"):
            classes = made.classes_ if isinstance(made.classes_, list) else [made.classes_]
            codes = made._y.reshape(len(made._y), -1)
            _require(codes.dtype.kind in "iu" and codes.shape[1] == len(classes), what)
            _require(all(_within(codes[:, i], 0, len(each)) for i, each in enumerate(classes)), what)


def _check_support_vectors(made: Any, what: str) -> None:
    vectors, counts, weights = made.support_vectors_, made._n_support, made._dual_coef_
    _require(isinstance(made.kernel, str) and made.kernel in ("linear", "poly", "rbf", "sigmoid"), what)
    for part in (vectors, weights):
        _require(issparse(part) if made._sparse else type(part) is np.ndarray, what)
    _require(vectors.ndim == 2 and vectors.shape[1] == getattr(made, "n_features_in_", None), what)
    many = vectors.shape[0]
    _require(_is_array(made.support_, kinds="i", ndim=1) and len(made.support_) == many, what)
    _require(_is_array(counts, kinds="i", ndim=1) and len(counts) >= 2 and _within(counts, 0, many + 1), what)
    pairs = 1
    if made._impl in ("c_svc", "nu_svc"):
        pairs = len(counts) * (len(counts) - 1) // 2
        _require(int(counts.sum()) == many and len(made.classes_) == len(counts), what)
        _require(weights.shape == (len(counts) - 1, many), what)
    else:
        _require(weights.shape == (1, many) and len(counts) == 2, what)
    _require(not made._sparse or weights.nnz == weights.shape[0] * many, what)
    _require(_is_array(made._intercept_, kinds="f", ndim=1) and len(made._intercept_) == pairs, what)
    for key in ("_probA", "_probB"):
        shares = getattr(made, key)
        _require(_is_array(shares, kinds="f", ndim=1) and len(shares) in (0, pairs), what)
    _require(len(made._probA) == len(made._probB) or made._impl not in ("c_svc", "nu_svc"), what)


def _check_centres(made: Any, what: str) -> None:
    centres = made.cluster_centers_
    _require(_is_array(centres, kinds="f", ndim=2) and len(centres), what)
    _require(centres.shape[1] == getattr(made, "n_features_in_", None), what)


def _check_vocabulary(made: Any, what: str) -> None:
    places = made.vocabulary_
    _require(isinstance(places, dict) and all(_is_whole(place, 0, 2**31) for place in places.values()), what)
    _require(sorted(places.values()) == list(range(len(places))), what)


def _check_hashing(made: Any, what: str) -> None:
    _require(_is_whole(getattr(made, "n_features", None), 1, 2**31 - 1), what)


def _check_one_hot(made: Any, what: str) -> None:
    categories = made.categories_
    _require(isinstance(categories, list) and all(type(each) is np.ndarray for each in categories), what)
    if hasattr(made, "_n_features_outs"):
        _require(list(made._n_features_outs) == made._compute_n_features_outs(), what)
    for each, grouped in zip(categories, getattr(made, "_default_to_infrequent_mappings", ()), strict=False):
        _require(grouped is None or (_is_array(grouped, kinds="iu", ndim=1) and len(grouped) == len(each)), what)
        _require(grouped is None or _within(grouped, 0, len(each)), what)
    for key in ("drop_idx_", "_drop_idx_after_grouping"):
        dropped = getattr(made, key, None)
        if dropped is not None:
            _require(len(dropped) == len(categories), what)
            places = zip(dropped, categories, strict=True)
            _require(all(place is None or _is_whole(place, 0, len(each) - 1) for place, each in places), what)


#: By module: the attribute that a fitted estimator has (None: in any case), and the check of one that has it.
_AFTER: Final[tuple[tuple[str, str | None, Callable[[Any, str], None]], ...]] = (
    ("sklearn.tree._classes", "tree_", _check_decision_tree),
    ("sklearn.ensemble._forest", "estimators_", _check_forest),
    ("sklearn.ensemble._gb", "estimators_", _check_gradient_boosting),
    ("sklearn.ensemble._iforest", "estimators_", _check_isolation_forest),
    ("sklearn.ensemble._hist_gradient_boosting.gradient_boosting", "_predictors", _check_histogram_boosting),
    *(
        (f"sklearn.neighbors._{module}", "_fit_X", _check_neighbours)
        for module in ("classification", "regression", "unsupervised", "graph", "lof")
    ),
    ("sklearn.svm._classes", "support_vectors_", _check_support_vectors),
    ("sklearn.cluster._kmeans", "cluster_centers_", _check_centres),
    ("sklearn.cluster._bisect_k_means", "cluster_centers_", _check_centres),
    ("sklearn.feature_extraction.text", "vocabulary_", _check_vocabulary),
    ("sklearn.feature_extraction.text", "n_features", _check_hashing),
    ("sklearn.feature_extraction._dict_vectorizer", "vocabulary_", _check_vocabulary),
    ("sklearn.feature_extraction._hash", None, _check_hashing),
    ("sklearn.preprocessing._encoders", "categories_", _check_one_hot),
)


def check_fitted(name: str, made: Any) -> None:
    """Check an estimator of a listed type whose compiled code indexes by what it holds."""
    own = name.rpartition(".")[0]
    for module, attribute, check in _AFTER:
        if module == own and (attribute is None or hasattr(made, attribute)):
            check(made, f"a {type(made).__name__}")
