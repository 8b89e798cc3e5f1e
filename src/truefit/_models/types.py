"""The types that a model file may hold, by exact name.

Nothing else is loaded from a model file unless the caller names it. A name is here for one of these reasons:

- ``ESTIMATORS``: an estimator of scikit-learn, skrub or truefit. None of them opens files, connects or calls
  what it holds, as long as what it holds is in these lists too; ``settings.py`` checks the exceptions.
- ``VALUES``: what a fitted estimator keeps besides arrays and plain values (losses, kernels, bin mappers, selectors).
- ``FUNCTIONS``: functions of arrays alone, because an estimator may call whatever function it holds.
- The rest are the types of numpy, scipy and Python that stand for plain data.

Names that the installed versions do not have are never looked up, so one list serves several versions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from truefit._models.archive import BrokenModel

#: Estimators, by the module that defines them.
ESTIMATORS: Final[Mapping[str, str]] = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.cluster._affinity_propagation": "AffinityPropagation",
    "sklearn.cluster._agglomerative": "AgglomerativeClustering FeatureAgglomeration",
    "sklearn.cluster._bicluster": "SpectralBiclustering SpectralCoclustering",
    "sklearn.cluster._bisect_k_means": "BisectingKMeans",
    "sklearn.cluster._dbscan": "DBSCAN",
    "sklearn.cluster._hdbscan.hdbscan": "HDBSCAN",
    "sklearn.cluster._kmeans": "KMeans MiniBatchKMeans",
    "sklearn.cluster._mean_shift": "MeanShift",
    "sklearn.cluster._optics": "OPTICS",
    "sklearn.cluster._spectral": "SpectralClustering",
    "sklearn.compose._column_transformer": "ColumnTransformer",
    "sklearn.compose._target": "TransformedTargetRegressor",
    "sklearn.covariance._elliptic_envelope": "EllipticEnvelope",
    "sklearn.covariance._empirical_covariance": "EmpiricalCovariance",
    "sklearn.covariance._graph_lasso": "GraphicalLasso GraphicalLassoCV",
    "sklearn.covariance._robust_covariance": "MinCovDet",
    "sklearn.covariance._shrunk_covariance": "LedoitWolf OAS ShrunkCovariance",
    "sklearn.cross_decomposition._pls": "CCA PLSCanonical PLSRegression PLSSVD",
    "sklearn.decomposition._dict_learning": "DictionaryLearning MiniBatchDictionaryLearning SparseCoder",
    "sklearn.decomposition._factor_analysis": "FactorAnalysis",
    "sklearn.decomposition._fastica": "FastICA",
    "sklearn.decomposition._incremental_pca": "IncrementalPCA",
    "sklearn.decomposition._kernel_pca": "KernelPCA",
    "sklearn.decomposition._lda": "LatentDirichletAllocation",
    "sklearn.decomposition._nmf": "MiniBatchNMF NMF",
    "sklearn.decomposition._pca": "PCA",
    "sklearn.decomposition._sparse_pca": "MiniBatchSparsePCA SparsePCA",
    "sklearn.decomposition._truncated_svd": "TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble._bagging": "BaggingClassifier BaggingRegressor",
    "sklearn.ensemble._forest": (
        "ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier RandomForestRegressor RandomTreesEmbedding"
    ),
    "sklearn.ensemble._gb": "GradientBoostingClassifier GradientBoostingRegressor",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": (
        "HistGradientBoostingClassifier HistGradientBoostingRegressor"
    ),
    "sklearn.ensemble._iforest": "IsolationForest",
    "sklearn.ensemble._stacking": "StackingClassifier StackingRegressor",
    "sklearn.ensemble._voting": "VotingClassifier VotingRegressor",
    "sklearn.ensemble._weight_boosting": "AdaBoostClassifier AdaBoostRegressor",
    "sklearn.feature_extraction._dict_vectorizer": "DictVectorizer",
    "sklearn.feature_extraction._hash": "FeatureHasher",
    "sklearn.feature_extraction.image": "PatchExtractor",
    "sklearn.feature_extraction.text": "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer",
    "sklearn.feature_selection._from_model": "SelectFromModel",
    "sklearn.feature_selection._rfe": "RFE RFECV",
    "sklearn.feature_selection._sequential": "SequentialFeatureSelector",
    "sklearn.feature_selection._univariate_selection": (
        "GenericUnivariateSelect SelectFdr SelectFpr SelectFwe SelectKBest SelectPercentile"
    ),
    "sklearn.feature_selection._variance_threshold": "VarianceThreshold",
    "sklearn.frozen._frozen": "FrozenEstimator",
    "sklearn.gaussian_process._gpc": "GaussianProcessClassifier",
    "sklearn.gaussian_process._gpr": "GaussianProcessRegressor",
    "sklearn.impute._base": "MissingIndicator SimpleImputer",
    "sklearn.impute._knn": "KNNImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler SkewedChi2Sampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model._base": "LinearRegression",
    "sklearn.linear_model._bayes": "ARDRegression BayesianRidge",
    "sklearn.linear_model._coordinate_descent": (
        "ElasticNet ElasticNetCV Lasso LassoCV MultiTaskElasticNet MultiTaskElasticNetCV MultiTaskLasso "
        "MultiTaskLassoCV"
    ),
    "sklearn.linear_model._glm.glm": "GammaRegressor PoissonRegressor TweedieRegressor",
    "sklearn.linear_model._huber": "HuberRegressor",
    "sklearn.linear_model._least_angle": "Lars LarsCV LassoLars LassoLarsCV LassoLarsIC",
    "sklearn.linear_model._logistic": "LogisticRegression LogisticRegressionCV",
    "sklearn.linear_model._omp": "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV",
    "sklearn.linear_model._passive_aggressive": "PassiveAggressiveClassifier PassiveAggressiveRegressor",
    "sklearn.linear_model._perceptron": "Perceptron",
    "sklearn.linear_model._quantile": "QuantileRegressor",
    "sklearn.linear_model._ransac": "RANSACRegressor",
    "sklearn.linear_model._ridge": "Ridge RidgeCV RidgeClassifier RidgeClassifierCV",
    "sklearn.linear_model._stochastic_gradient": "SGDClassifier SGDOneClassSVM SGDRegressor",
    "sklearn.linear_model._theil_sen": "TheilSenRegressor",
    "sklearn.manifold._classical_mds": "ClassicalMDS",
    "sklearn.manifold._isomap": "Isomap",
    "sklearn.manifold._locally_linear": "LocallyLinearEmbedding",
    "sklearn.manifold._mds": "MDS",
    "sklearn.manifold._spectral_embedding": "SpectralEmbedding",
    "sklearn.manifold._t_sne": "TSNE",
    "sklearn.mixture._bayesian_mixture": "BayesianGaussianMixture",
    "sklearn.mixture._gaussian_mixture": "GaussianMixture",
    "sklearn.model_selection._classification_threshold": "FixedThresholdClassifier TunedThresholdClassifierCV",
    "sklearn.model_selection._search": "GridSearchCV RandomizedSearchCV",
    "sklearn.model_selection._search_successive_halving": "HalvingGridSearchCV HalvingRandomSearchCV",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "sklearn.multioutput": "ClassifierChain MultiOutputClassifier MultiOutputRegressor RegressorChain",
    "sklearn.naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neighbors._classification": "KNeighborsClassifier RadiusNeighborsClassifier",
    "sklearn.neighbors._graph": "KNeighborsTransformer RadiusNeighborsTransformer",
    "sklearn.neighbors._kde": "KernelDensity",
    "sklearn.neighbors._lof": "LocalOutlierFactor",
    "sklearn.neighbors._nca": "NeighborhoodComponentsAnalysis",
    "sklearn.neighbors._nearest_centroid": "NearestCentroid",
    "sklearn.neighbors._regression": "KNeighborsRegressor RadiusNeighborsRegressor",
    "sklearn.neighbors._unsupervised": "NearestNeighbors",
    "sklearn.neural_network._multilayer_perceptron": "MLPClassifier MLPRegressor",
    "sklearn.neural_network._rbm": "BernoulliRBM",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing._data": (
        "Binarizer KernelCenterer MaxAbsScaler MinMaxScaler Normalizer PowerTransformer "
        "QuantileTransformer RobustScaler StandardScaler"
    ),
    "sklearn.preprocessing._discretization": "KBinsDiscretizer",
    "sklearn.preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
    "sklearn.preprocessing._function_transformer": "FunctionTransformer",
    "sklearn.preprocessing._label": "LabelBinarizer LabelEncoder MultiLabelBinarizer",
    "sklearn.preprocessing._polynomial": "PolynomialFeatures SplineTransformer",
    "sklearn.preprocessing._target_encoder": "TargetEncoder",
    "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    "sklearn.semi_supervised._label_propagation": "LabelPropagation LabelSpreading",
    "sklearn.semi_supervised._self_training": "SelfTrainingClassifier",
    "sklearn.svm._classes": "LinearSVC LinearSVR NuSVC NuSVR OneClassSVM SVC SVR",
    "sklearn.tree._classes": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
    "skrub._apply_to_cols": "ApplyToCols",
    "skrub._apply_to_each_col": "ApplyToEachCol",
    "skrub._apply_to_sub_frame": "ApplyToSubFrame",
    "skrub._check_input": "CheckInputDataFrame",
    "skrub._clean_categories": "CleanCategories",
    "skrub._clean_null_strings": "CleanNullStrings",
    "skrub._datetime_encoder": "DatetimeEncoder _CircularEncoder _SplineEncoder",
    "skrub._drop_similar": "DropSimilar",
    "skrub._drop_uninformative": "DropUninformative",
    "skrub._duration_to_float": "DurationToFloat",
    "skrub._gap_encoder": "GapEncoder",
    "skrub._minhash_encoder": "MinHashEncoder",
    "skrub._select_cols": "Drop DropCols SelectCols",
    "skrub._similarity_encoder": "SimilarityEncoder",
    "skrub._squashing_scaler": "SquashingScaler _MinMaxScaler",
    "skrub._string_encoder": "StringEncoder",
    "skrub._table_vectorizer": "Cleaner PassThrough TableVectorizer",
    "skrub._to_categorical": "ToCategorical",
    "skrub._to_datetime": "ToDatetime",
    "skrub._to_float": "ToFloat ToFloat32",
    "skrub._to_str": "ToStr",
    # Names of earlier versions of skrub.
    "skrub._apply_to_frame": "ApplyToFrame",
    "skrub._on_each_column": "OnEachColumn",
    "skrub._on_subframe": "OnSubFrame",
    "skrub._to_float32": "ToFloat32",
    "truefit._core.stages": "AtStage",
    "truefit.estimators.agghoo": "AgghooClassifier AgghooRegressor",
    "truefit._methods.selection.default_candidates": "EncodedLabels NumpyColumns",
}

#: Classes of truefit under the names that version 0.2 wrote, and where they are defined now.
RENAMED: Final[Mapping[str, str]] = {
    "truefit.core.stages.AtStage": "truefit._core.stages.AtStage",
    "truefit.methods.selection.encoded_labels.EncodedLabels": (
        "truefit._methods.selection.default_candidates.EncodedLabels"
    ),
    "truefit.methods.selection.numpy_columns.NumpyColumns": (
        "truefit._methods.selection.default_candidates.NumpyColumns"
    ),
}

#: What fitted estimators hold, by the module that defines it.
VALUES: Final[Mapping[str, str]] = {
    "scipy.interpolate._bsplines": "BSpline",
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": (
        "CompoundKernel ConstantKernel DotProduct ExpSineSquared Exponentiation Matern PairwiseKernel "
        "Product RBF RationalQuadratic Sum WhiteKernel"
    ),
    "sklearn.metrics._dist_metrics": "ChebyshevDistance64 EuclideanDistance64 ManhattanDistance64 MinkowskiDistance64",
    "sklearn.model_selection._split": (
        "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut LeavePGroupsOut LeavePOut RepeatedKFold "
        "RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit "
        "TimeSeriesSplit"
    ),
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
    "skrub._table_vectorizer": "ShortReprDict",
    "skrub._utils": "PassThrough",
    "skrub.selectors._base": "All And Cols Filter Inv NameFilter Or Sub XOr",
}

#: Scorers call methods by name: they are loaded only as what a search remembers, where predicting does not use them.
SCORERS: Final[Mapping[str, str]] = {"sklearn.metrics._scorer": "_CurveScorer _PassthroughScorer _Scorer"}

#: Losses hand the arguments of a call to compiled code: they are loaded only as what an estimator remembers.
LOSSES: Final[Mapping[str, str]] = {
    "sklearn._loss.loss": (
        "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss HalfPoissonLoss "
        "HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity HuberLoss PinballLoss"
    ),
}

#: Losses that scikit-learn compiles, made from numbers alone.
COMPILED_LOSSES: Final[Mapping[str, str]] = {
    "sklearn._loss._loss": (
        "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss CyHalfPoissonLoss "
        "CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity CyHuberLoss CyPinballLoss"
    ),
    "sklearn.linear_model._sgd_fast": (
        "EpsilonInsensitive Hinge Huber Log ModifiedHuber SquaredEpsilonInsensitive SquaredHinge SquaredLoss"
    ),
}

#: Functions of arrays: no files, no network, no calls of what they are given.
FUNCTIONS: Final[Mapping[str, str]] = {
    "numpy": (
        "absolute arcsinh cbrt cos cosh exp exp2 expm1 fabs log log10 log1p log2 max mean median min negative positive "
        "reciprocal rint sign sin sinh sqrt square sum tan tanh"
    ),
    "scipy._lib.array_api_compat.numpy._aliases": "asarray",
    "scipy.special._special_ufuncs": "expit logit",
    "scipy.special._ufuncs": "expit logit",
    "sklearn.feature_selection._mutual_info": "mutual_info_classif mutual_info_regression",
    "sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression r_regression",
    "sklearn.metrics._classification": (
        "accuracy_score balanced_accuracy_score brier_score_loss cohen_kappa_score f1_score fbeta_score jaccard_score "
        "log_loss matthews_corrcoef precision_score recall_score"
    ),
    "sklearn.metrics._ranking": "average_precision_score roc_auc_score top_k_accuracy_score",
    "sklearn.metrics._regression": (
        "explained_variance_score max_error mean_absolute_error mean_absolute_percentage_error mean_gamma_deviance "
        "mean_pinball_loss mean_poisson_deviance mean_squared_error mean_squared_log_error median_absolute_error "
        "r2_score root_mean_squared_error root_mean_squared_log_error"
    ),
    "sklearn.utils.validation": "check_array",
    "skrub._dataframe._common": (
        "has_nulls is_any_date is_bool is_categorical is_duration is_float is_integer is_numeric is_object is_string"
    ),
    "skrub._table_vectorizer": "_created_by_predicate",
    "skrub.selectors._selectors": "_cardinality_below _null_count_check",
}

#: Numbers and text of numpy.
SCALARS: Final[Mapping[str, str]] = {
    "numpy": (
        "bool bool_ complex128 complex64 datetime64 float16 float32 float64 int16 int32 int64 int8 longdouble str_ "
        "timedelta64 uint16 uint32 uint64 uint8"
    ),
}


def names(*listed: Mapping[str, str]) -> frozenset[str]:
    """Return full names, ``module.name``.

    Examples
    --------
    >>> sorted(names({"sklearn.pipeline": "FeatureUnion Pipeline"}))
    ['sklearn.pipeline.FeatureUnion', 'sklearn.pipeline.Pipeline']
    """
    return frozenset(f"{module}.{name}" for each in listed for module, text in each.items() for name in text.split())


#: Attributes at which alone a type may stand: elsewhere its methods would be called without the checks of its owner.
PLACES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(names(SCORERS), frozenset({"scorer_", "scoring", "_curve_scorer", "owner"})),
    "sklearn.tree._tree.Tree": frozenset({"tree_"}),
    **dict.fromkeys(names(LOSSES, COMPILED_LOSSES), frozenset({"_loss", "_base_loss", "closs", "_loss_function_"})),
}

#: What each kind of node of a skops file may stand for. A kind that is not here needs the caller's word for its type.
ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    "ObjectNode": names(ESTIMATORS, VALUES, SCORERS, LOSSES),
    "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
    "LossNode": names(COMPILED_LOSSES),
    "FunctionNode": names(FUNCTIONS),
    "TypeNode": names(SCALARS) | {"builtins.bool", "builtins.float", "builtins.int", "builtins.str"},
    "PartialNode": frozenset({"functools.partial"}),
    "ConstructorFromReduceNode": frozenset({"builtins.frozenset"}),
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}),
    "ListNode": frozenset({"builtins.list"}),
    "SetNode": frozenset({"builtins.set"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "JsonNode": frozenset({"builtins.str"}),
    "BytesNode": frozenset({"builtins.bytes"}),
    "BytearrayNode": frozenset({"builtins.bytearray"}),
    "NdArrayNode": names(SCALARS) | {"numpy.ndarray"},
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "SparseMatrixNode": names(
        {"scipy.sparse._csr": "csr_array csr_matrix", "scipy.sparse._csc": "csc_array csc_matrix"}
    ),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
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
        raise BrokenModel("the name of a type is impossible")
    if node["__loader__"] == "MethodNode":
        content = node.get("content")
        method = content.get("func") if isinstance(content, dict) else None
        return f"{module}.{own}.{method}"
    return RENAMED.get(f"{module}.{own}", f"{module}.{own}")


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
