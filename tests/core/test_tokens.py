import numpy as np
import pytest

from truefit.core.tokens import value_tokens

MANY = np.arange(200)


@pytest.mark.parametrize(
    "values",
    [
        np.array([2, 0, 1, 2, 2]),
        np.array([True, False, True]),
        np.array(["bee", "a", "", "bee"]),
        np.array([0.5, -0.0, 0.0, np.nan, 0.5]),
        np.array([1.5, 2.5], dtype=np.float32),
        np.array(["a", 1, None, 2.5, "a"], dtype=object),
        MANY % 33,
        MANY * 0.25,
        MANY.astype(str),
        np.column_stack([MANY % 2, MANY % 3]),
    ],
)
def test_a_value_has_the_same_token_in_any_company(values):
    tokens = value_tokens(values)
    assert tokens.shape == (len(values), 2)
    for i in range(len(values)):
        assert tokens[i].tolist() == value_tokens(values[i : i + 1])[0].tolist()


def test_equal_values_and_no_others_have_the_same_token():
    for values in (MANY % 7, MANY % 50, (MANY % 50).astype(str), np.where(MANY % 2, 0.0, -0.0)):
        tokens = value_tokens(values)
        bits = values.view(np.uint64) if values.dtype.kind == "f" else values
        assert len(np.unique(tokens[:, 0])) == len(np.unique(tokens, axis=0)) == len(np.unique(bits))
    assert value_tokens(np.array([1]))[0, 0] != value_tokens(np.array([1], dtype=np.int8))[0, 0]


def test_tokens_stay_as_stores_have_them():
    assert [hex(token) for token in value_tokens(np.array([0, 1]))[:, 0]] == [
        "0xd58fa5541d1f7cec",
        "0xc2254ec87a6195c3",
    ]
    assert [hex(token) for token in value_tokens(np.array(["a", "bee"]))[:, 0]] == [
        "0x93f105f939dfdd9b",
        "0x72ff9f988ca8e15c",
    ]
    assert [hex(token) for token in value_tokens(np.array([0.5]))[:, 0]] == ["0x34e5955a28a30e0"]
