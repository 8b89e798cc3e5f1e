from truefit._core.rows import Rows
from truefit._core.task import Ask, Fit
from truefit._solvers.questions import questions


def fit(*asks):
    return Fit("a", b"", b"", None, Rows.all(9), asks)


def test_equal_rows_are_one_question():
    same, again, others = Rows.of([0, 1]), Rows.of([0, 1]), Rows.of([0, 1, 2])
    first = fit(Ask(same), Ask(same, "predict_proba"))
    second = fit(Ask(again), Ask(others), Ask(Rows.of([])))
    found = questions([first, second, fit()])
    assert [(question.rows, question.wanted) for question in found] == [
        (same, {"predict": [0, 1], "predict_proba": [0]}),
        (others, {"predict": [1]}),
    ]


def test_who_asks_twice_is_answered_once():
    [question] = questions([fit(Ask(Rows.of([3])), Ask(Rows.of([3])))])
    assert question.wanted == {"predict": [0]}
