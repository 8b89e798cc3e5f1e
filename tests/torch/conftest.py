import pytest
import torch

from truefit.torch import solver


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def nothing_refused():
    solver._refused.clear()
