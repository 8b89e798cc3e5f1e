"""Near-duplicates: groups of rows that are almost equal, or equal in all cells but one or two."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from truefit._core.typing import Floats, Positions

#: Near-duplicates count where so many of the rows have one, in so many groups, of which none is so large a share.
_SHARE, _GROUPS, _LARGEST_SHARE = 0.05, 10, 0.2
#: Neighbours of so many rows are looked at, so many of each.
_NEIGHBOURS_OF, _NEIGHBOURS = 1_000, 10
#: Neighbours belong together where the next row is so many times as far away as the last of them.
_GAP = 4.0


def near_duplicates(X: Floats) -> Positions | None:
    """Return the group of each row; None where there are hardly any near-duplicates.

    >>> visits = np.random.default_rng(0).normal(size=(40, 6)).repeat(3, axis=0)
    >>> visits[:, 0] += np.arange(120)
    >>> groups = near_duplicates(visits)
    >>> len(np.unique(groups))
    40
    """
    X = X[:, X.std(axis=0) > 0]
    if X.shape[1] < 2:
        return None
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for edges in (_edges_by_cells(X), _edges_by_distance(X)):
        groups = _isolated(X, edges)
        if groups is not None:
            return groups
    return None


def _edges_by_cells(X: Floats) -> list[tuple[Positions, Positions]]:
    """Pairs of rows that are equal, up to rounding, in all cells but one or two."""
    n, columns = X.shape
    cells = np.round(X * 1_000).astype(np.int64).astype(np.uint64)
    # A product with an odd number mixes the bits: the sum over the columns is a hash of the row.
    odd = 2 * np.random.default_rng(1).integers(2**62, 2**63, columns, dtype=np.uint64) + 1
    hashes = cells * odd
    hashes = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    total = hashes.sum(axis=1, dtype=np.uint64)
    left_out: list[tuple[int, ...]] = [()]
    if columns >= 4 and columns * n <= 3_000_000:
        left_out += [(j,) for j in range(columns)]
    if columns >= 8 and columns**2 // 2 * n <= 1_000_000:
        left_out += list(combinations(range(columns), 2))
    edges = []
    for each in left_out:
        keys = total - hashes[:, list(each)].sum(axis=1, dtype=np.uint64)
        order = np.argsort(keys, kind="stable")
        same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
        edges.append((order[same], order[same + 1]))
    return edges


def _edges_by_distance(X: Floats) -> list[tuple[Positions, Positions]]:
    """Pairs of rows that are much closer to each other than to the next row."""
    from sklearn.neighbors import NearestNeighbors

    queries = np.random.default_rng(2).permutation(len(X))[:_NEIGHBOURS_OF]
    number = min(_NEIGHBOURS, len(X) - 1)
    distances, neighbours = NearestNeighbors(n_neighbors=number + 1, algorithm="brute").fit(X).kneighbors(X[queries])
    distances, neighbours = distances[:, 1:], neighbours[:, 1:]
    ratios = distances[:, 1:] / np.maximum(distances[:, :-1], 1e-9)
    last = ratios.argmax(axis=1)
    close = (ratios.max(axis=1) >= _GAP) & (distances[:, 0] > 0)
    linked = close[:, None] & (np.arange(number) <= last[:, None])
    places = np.nonzero(linked)
    return [(queries[places[0]], neighbours[linked])]


def _isolated(X: Floats, edges: list[tuple[Positions, Positions]]) -> Positions | None:
    """Return connected components, where they are many, small and far from the other rows; else None.

    In a dense table of few distinct values every row has neighbours that differ in one cell: that is no sign of
    dependence, and its components grow together.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right = (np.concatenate(each) for each in zip(*edges, strict=True))
    links = coo_array((np.ones(len(left), bool), (left, right)), shape=(len(X), len(X)))
    groups: Positions = connected_components(links, directed=False)[1].astype(np.intp)
    sizes = np.bincount(groups)
    related = np.flatnonzero(sizes[groups] > 1)
    if len(related) < _SHARE * len(X) or (sizes > 1).sum() < _GROUPS or sizes.max() > _LARGEST_SHARE * len(X):
        return None
    rng = np.random.default_rng(3)
    queries, others = rng.permutation(related)[:200], rng.permutation(len(X))[:5_000]
    cells = np.round(X * 1_000)
    apart = np.stack([(cells[query] != cells[others]).sum(axis=1) for query in queries]).astype(float)
    apart[groups[queries][:, None] == groups[others]] = np.inf
    # Rows of different groups differ in at least a third of the cells, most of the time.
    return groups if np.median(apart.min(axis=1)) >= max(3, X.shape[1] / 3) else None
