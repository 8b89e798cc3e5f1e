"""Every parameter of the public functions and classes is documented, with an entry and a text of its own."""

import inspect
import re

import pytest

import truefit

PUBLIC = [name for name in truefit.__all__ if callable(getattr(truefit, name))]


def documented(thing):
    """Return the text of each entry in the section on parameters of a numpydoc docstring."""
    lines = inspect.getdoc(thing).splitlines()
    start = lines.index("Parameters") + 2
    texts, name = {}, None
    for line, following in zip(lines[start:], [*lines[start + 1 :], ""], strict=True):
        if following and set(following) == {"-"}:  # the title of the next section
            break
        if line and not line.startswith(" "):
            name = re.split(r" ?: ", line)[0].lstrip("*")
            texts[name] = ""
        elif name is not None:
            texts[name] += line
    return texts


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_has_an_entry_and_a_text_of_its_own(name):
    thing = getattr(truefit, name)
    parameters = [each for each in inspect.signature(thing).parameters if each != "self"]
    texts = documented(thing)
    assert list(texts) == parameters, "one entry per parameter, in the order of the signature"
    assert [each for each, text in texts.items() if not text.strip()] == []


def test_an_entry_that_parameters_share_is_none_of_theirs():
    def shared(X, y):
        """Do nothing.

        Parameters
        ----------
        X, y : table and target
            Whatever scikit-learn takes.

        Returns
        -------
        None
        """

    assert list(documented(shared)) == ["X, y"]
