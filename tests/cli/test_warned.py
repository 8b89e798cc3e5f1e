import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from truefit._cli.messages import warnings_shown_once


def test_each_warning_is_shown_once_and_counted(capsys):
    with warnings_shown_once():
        for _ in range(3):
            with warnings.catch_warnings():  # as fits do; Python then forgets what it has shown
                warnings.simplefilter("always")
                warnings.warn("lbfgs failed to converge.\nIncrease max_iter.", ConvergenceWarning, stacklevel=1)
    with pytest.warns(UserWarning, match="other"):
        warnings.warn("other", UserWarning, stacklevel=1)
    shown = capsys.readouterr().err.splitlines()
    assert shown == [
        "ConvergenceWarning: lbfgs failed to converge.",
        "3 times: ConvergenceWarning: lbfgs failed to converge.",
    ]
