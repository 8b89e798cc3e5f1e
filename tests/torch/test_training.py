import numpy as np
import torch

from truefit.torch.training import batch_bounds, epoch_seed, orders


def test_each_order_is_a_permutation_of_the_members_own_rows():
    sizes = torch.tensor([5, 9, 9])
    found = orders(torch.tensor([1, 1, 2]), torch.tensor([3]), sizes, 9)[0]
    assert sorted(found[0, :5].tolist()) == list(range(5))
    assert found[0, 5:].tolist() == [5, 6, 7, 8]
    assert sorted(found[1].tolist()) == list(range(9))
    assert found[1].tolist() != found[2].tolist()


def test_orders_change_from_epoch_to_epoch_and_are_even():
    seeds, sizes = torch.arange(4000), torch.full((4000,), 4)
    first, second = orders(seeds, torch.tensor([1, 2]), sizes, 4)
    assert (first != second).any(dim=1).float().mean() > 0.9
    # Each of the 24 orders about 167 times; 5 standard deviations are 63.
    _, counts = np.unique(first.numpy() @ [1000, 100, 10, 1], return_counts=True)
    assert len(counts) == 24
    assert abs(counts - 4000 / 24).max() < 63


def test_batches_cover_the_rows():
    for rows in range(2, 40):
        for size in (1, 2, 3, 7, None):
            bounds = batch_bounds(rows, size)
            assert [i for start, stop in bounds for i in range(start, stop)] == list(range(rows))
            assert size == 1 or all(stop - start > 1 for start, stop in bounds)


def test_seeds_of_epochs_differ():
    assert len({epoch_seed(seed, epoch) for seed in range(20) for epoch in range(20)}) == 400
