"""Sentences of a study, on small tables at the edges: zero error, many classes, ties, one candidate, and so on."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from truefit import study
from truefit._core.errors import InvalidInput

#: Words that no sentence of a study may hold.
FORBIDDEN = re.compile(
    r"anew|told|said|kept aside|beyond chance|flatter|unsteady|believe|left out|guessing|the chosen one|disturbed|"
    r"follows|was spent|looked into|would not hold|overtake|no mean over|spelled|steady",
    re.IGNORECASE,
)


def sentences(result):
    return "\n".join([*result.verdict, result.summary()])


def check_words(result):
    text = sentences(result)
    if result.curves is not None:  # the words of a learning curve are its own
        text = text.replace(str(result.curves[result.best].refused), "")
    assert not FORBIDDEN.search(text), FORBIDDEN.findall(text)
    assert "nan" not in re.findall(r"\w+", text)
    assert ".." not in text.replace("...", "")
    return text


def by_code(result):
    return {each.code: each for each in result.findings}


def without_times(content):
    if isinstance(content, dict):
        return {key: without_times(each) for key, each in content.items() if "seconds" not in key and key != "fits"}
    return [without_times(each) for each in content] if isinstance(content, list) else content


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    models = {"dummy": DummyClassifier(), "bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=3)}
    return study(X, y.map({0: "malignant", 1: "benign"}), models, random_state=3)


def test_one_story_with_one_number(cancer):
    text = check_words(cancer)
    expected = cancer.metric_text.value(cancer.estimate)
    own = cancer.metric_text.value(cancer.assessment.estimates[cancer.best].value)
    which, how_good, _, more_data = cancer.answers
    assert which.headline == f"Use {cancer.best}."
    assert re.fullmatch(
        rf"{cancer.best}: error {own} in 5-fold cross-validation on 569 rows \(baseline 37\.3%\)\. "
        r"Best of 3 candidates\.",
        which.sentences[0],
    )
    assert how_good.headline.startswith(f"Expect an error of {expected} (")
    biased = "" if own == expected else f" The selected model's own CV score, {own}, is optimistically biased."
    assert how_good.sentences[0] == (
        f"95% confidence interval from nested cross-validation over all 3 candidates (5 outer folds).{biased}"
    )
    assert "Baseline (always predicts the majority class): error 37.3%; the estimate is" in text
    assert re.search(
        rf"twice the rows .+ lower the error .*(from {expected} to about|now {expected})", more_data.headline
    )
    assert more_data.sentences[0].startswith("5 times the rows are expected to ")
    assert more_data.sentences[1].endswith(f"Its relative change is applied to the estimate of {expected}.")
    # Once in the verdict, once in the summary; the selection was among two, which needs no adjustment.
    assert text.count("paired t-tests, adjusted for 2 comparisons with dummy by Holm's method") == 2


def test_the_first_screen_of_a_page_is_in_the_plain_data(cancer):
    content = cancer.to_dict()
    assert (content["target"], content["seed"], content["folds"], content["candidates"]) == ("target", 3, 5, 3)
    assert (content["metric_name"], content["greater_is_better"], content["baselines"]) == ("error", False, ["dummy"])
    assert content["baseline"] == pytest.approx(0.3726, abs=1e-3)


def test_zero_error_reads_well():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 3)) + 20 * y[:, None]
    result = study(X, y, {"dummy": DummyClassifier(), "bayes": GaussianNB()})
    text = check_words(result)
    assert result.answers[1].headline.startswith("Expect an error of 0% (0% to ")
    assert "the estimate is 100% lower" in text
    assert result.answers[3].headline == "No: the error is already 0%."
    assert "variance" not in text
    assert "bias " not in text
    assert not {"TF203", "TF204", "TF205"} & by_code(result).keys()


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_many_classes_are_counted_not_listed():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(360, 2)) + np.column_stack([y % 8, y // 8]) * 6.0
    result = study(X, y, {"knn": KNeighborsClassifier(1), "bayes": GaussianNB()})
    check_words(result)
    finding = by_code(result)["TF107"]
    assert finding.text.startswith("All 60 classes have fewer than 30 rows: 0, 1, 2, 3, 4 and 55 more. The small")
    assert len(finding.text) < 250


@pytest.mark.parametrize("C", [0.999, 0.02])
def test_two_candidates_that_tie(C):
    X, y = make_classification(200, 5, random_state=0)
    result = study(X, y, {"linear": LogisticRegression(), "other": LogisticRegression(C=C)})
    text = check_words(result)
    other = "linear" if result.best == "other" else "other"
    tied = f"{other} does not differ significantly from {result.best} on these 200 rows."
    assert by_code(result)["TF208"].text == tied
    assert "Holm" not in text
    which = "\n".join(result.answers[0].sentences)
    test = f"Not significantly different from {result.best} (paired t-test; difference with 95% interval): {other} "
    if C == 0.999:
        assert f"Best of 2 candidates; {other} has the same error and comes later in the list." in which
        assert f"No difference from {result.best} in any of the folds: {other}." in which
        assert test not in which
    else:
        assert re.search(re.escape(test) + r"\+[\d.]+ points \([−+][\d.]+ to \+[\d.]+\)\.", which)


def test_an_auc_is_a_number_and_is_not_advised_for():
    X, y = make_classification(400, 5, weights=[0.9], flip_y=0.02, random_state=0)
    result = study(X, y, {"bayes": GaussianNB(), "dummy": DummyClassifier()}, metric="auc")
    text = check_words(result)
    assert re.match(r"Expect an AUC of 0\.\d+ \(0\.\d+ to", result.answers[1].headline)
    assert "Baseline (always predicts the majority class): AUC 0.500." in text
    assert re.search(r"Recall of the rarer class 1: [\d.]+% \(\d+ of \d+ rows\)\.", text)
    assert "metric=" not in text
    assert "It is a curve of the error, because AUC is not a loss." in text


def test_one_candidate():
    X, y = make_classification(200, 5, random_state=0)
    result = study(X, y, {"bayes": GaussianNB()})
    text = check_words(result)
    assert result.answers[0].sentences[0].endswith("It is the only candidate.")
    assert result.answers[1].sentences[0] == "95% confidence interval from 5-fold cross-validation."
    assert "optimistically" not in text
    assert "Best of" not in text
    assert "No more flexible candidate was better" not in text


def test_the_baseline_is_best():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 4)), rng.permutation(np.repeat([0, 1], [110, 40]))
    result = study(X, y, {"dummy": DummyClassifier(), "tree": DecisionTreeClassifier()})
    check_words(result)
    assert result.best == "dummy"
    assert result.answers[0].headline == "None: no candidate is significantly better than the baseline."
    assert result.answers[2].headline == "Not applicable: no candidate is significantly better than the baseline."
    assert by_code(result)["TF201"].evidence["reason"] == "best"
    assert "Perturbed validation: dummy is a baseline." in by_code(result)["TF301"].text


@pytest.mark.parametrize(
    ("metric", "weighted"), [("auc", False), ("balanced_accuracy", False), ("log_loss", True), ("error", True)]
)
def test_without_a_dummy_a_constant_prediction_is_the_baseline(metric, weighted):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 3)), rng.permutation(np.repeat(["ill", "well"], [45, 75]))
    options = {"metric": metric, "cv": 3, "sample_weight": rng.uniform(0.5, 2, 120) if weighted else None}
    result = study(X, y, {"bayes": GaussianNB()}, **options)
    text = check_words(result)
    assert result.best == "bayes"
    assert result.answers[0].headline == "None: no candidate is significantly better than the baseline."
    assert result.answers[0].sentences[0].endswith("It is the only candidate.")
    assert result.answers[2].headline.startswith("Not applicable")
    assert "No candidate is better than the baseline: the best one, bayes, has" in text or "not significantly" in text
    assert not {"TF204", "TF210"} & by_code(result).keys()
    named = study(X, y, {"bayes": GaussianNB(), "dummy": DummyClassifier()}, **options)
    assert result.to_dict()["baseline"] == pytest.approx(named.to_dict()["baseline"])
    assert named.answers[0].headline == result.answers[0].headline


def test_without_a_dummy_a_model_that_learned_something_is_recommended():
    X, y = make_classification(200, 5, random_state=0)
    result = study(X, y, {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}, metric="auc")
    assert result.answers[0].headline == f"Use {result.best}."
    assert "(baseline 0.500). Best of 2 candidates" in check_words(result)
    assert list(result.table.index) == ["bayes", "tree"]
    assert "TF201" not in by_code(result)


def test_a_regression_in_its_own_units():
    X, y = make_regression(200, 4, noise=5.0, random_state=0)
    result = study(pd.DataFrame(X), pd.Series(y, name="price"), {"dummy": DummyRegressor(), "ridge": Ridge()})
    text = check_words(result)
    assert re.match(r"Expect an RMSE of \d\.\d+ \(\d\.\d+ to \d\.\d+\) on new rows\.", result.answers[1].headline)
    assert "Baseline (always predicts the mean): RMSE" in text
    assert "of injected target noise" in text
    assert "points" not in text


def test_a_rerun_gives_the_same_study():
    X, y = make_classification(300, 5, random_state=0)
    models = {"dummy": DummyClassifier(), "tree": DecisionTreeClassifier(max_depth=2, random_state=0)}
    first, second = (study(X, y, models).to_dict() for _ in range(2))
    assert without_times(first) == without_times(second)
    assert "TF303" not in str(first["findings"])
    assert "TF303" in str(study(X, y, models, budget=60).to_dict()["findings"])


def test_the_models_of_the_command_line_by_name():
    X, y = make_classification(200, 5, random_state=0)
    assert set(study(X, y, ["linear", "tree"], tune=False).table.index) == {"linear", "tree"}
    assert study(X, y, "linear", tune=False).best == "linear"
    with pytest.raises(InvalidInput, match=r"names among dummy, linear.* Got 'liner' instead\. Did you mean 'linear'"):
        study(X, y, ["liner", "tree"])


def test_a_path_or_the_name_of_a_column_is_answered_with_what_to_do():
    with pytest.raises(InvalidInput, match=r"pandas\.read_csv.*truefit study x\.csv --target class"):
        study("x.csv", "class")
    with pytest.raises(InvalidInput, match=r"pass y=X\['class'\] and X=X\.drop\(columns='class'\)"):
        study(pd.DataFrame({"a": [1.0], "class": ["x"]}), "class")
