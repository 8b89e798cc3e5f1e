"""Learners that are fitted for all candidates at once, from arrays (candidate, row, column)."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin

#: Cuts and depth of a tree.
BINS, DEPTH = 8, 3


def lda(X, y, folds, k):
    """Return the weights and intercepts of linear discriminant analysis without each fold, from shared sums."""
    found = []
    for train in (folds != fold for fold in range(k)):
        own, codes = X[:, train], y[train]
        shares = np.array([1 - codes.mean(), codes.mean()])
        means = np.stack([own[:, codes == code].mean(axis=1) for code in (0, 1)], axis=1)
        centred = own - means[:, codes]
        within = centred.transpose(0, 2, 1) @ centred / len(codes)
        weights = np.linalg.solve(within, means.transpose(0, 2, 1))
        constants = np.log(shares) - 0.5 * np.einsum("ckp,cpk->ck", means, weights)
        found.append((weights[..., 1] - weights[..., 0], constants[:, 1] - constants[:, 0]))
    return found


def ridge(X, y, folds, k):
    """Return the weights and intercepts of ridge regression without each fold."""
    found = []
    for train in (folds != fold for fold in range(k)):
        own, target = X[:, train], y[train]
        centre = own.mean(axis=1)
        centred = own - centre[:, None]
        gram = centred.transpose(0, 2, 1) @ centred + np.eye(X.shape[2])
        weights = np.linalg.solve(gram, (centred.transpose(0, 2, 1) @ (target - target.mean()))[..., None])[..., 0]
        found.append((weights, target.mean() - (centre * weights).sum(axis=1)))
    return found


def lda_error(weights, constants, noise):
    """True error of linear rules on the two classes, seen with noise."""
    spread = np.sqrt((weights**2).sum(axis=-1) * (1 + noise**2))
    shift = 2 / math.sqrt(5) * weights.sum(axis=-1)
    return 0.5 * (norm.cdf(constants / spread) + norm.cdf(-(constants + shift) / spread))


def ridge_error(weights, constants, noise):
    """True mean squared error of linear models, seen with noise."""
    missed = ((1 / math.sqrt(5) - weights) ** 2).sum(axis=-1)
    return 1 + missed + noise**2 * (weights**2).sum(axis=-1) + constants**2


#: Linear learners: how they are fitted, and the true error of their models.
LINEAR = {"lda": (lda, lda_error), "ridge": (ridge, ridge_error)}


def linear_predictions(X, folds, models):
    """Return what the model without each row's fold predicts: (candidate, row)."""
    predicted = np.empty(X.shape[:2])
    for fold, (weights, constants) in enumerate(models):
        test = folds == fold
        predicted[:, test] = (X[:, test] @ weights[..., None])[..., 0] + constants[:, None]
    return predicted


def squared_distances(X, others):
    """Return squared distances (other, row), up to a constant of each other."""
    return (X**2).sum(axis=1) - 2 * others @ X.T


def nearest(distances, count):
    """Return at least ``count`` nearest rows, in order."""
    if count >= distances.shape[1] - 1:
        return distances.argsort(axis=1)
    order = np.argpartition(distances, count, axis=1)[:, : count + 1]
    return np.take_along_axis(order, np.take_along_axis(distances, order, axis=1).argsort(axis=1), axis=1)


def neighbours(X, y, partitions, k=5):
    """Return means over the k nearest rows of other folds for each partition: (partition, candidate, row)."""
    found = np.empty((len(partitions), *X.shape[:2]))
    largest = max(np.bincount(folds).max() for folds in partitions)
    for place, rows in enumerate(X):
        order = nearest(squared_distances(rows, rows), largest + k)
        for which, folds in enumerate(partitions):
            others = folds[order] != folds[:, None]
            chosen = others & (np.cumsum(others, axis=1) <= k)
            found[which, place] = (y[order] * chosen).sum(axis=1) / k
    return found


def binned(X):
    """Return the bins of columns between -1 and 1."""
    return np.clip(((X + 1) * (BINS / 2)).astype(int), 0, BINS - 1)


def grow(bins, y):
    """Fit a tree of fixed depth by the Gini index for each candidate; return its splits by level, and its leaves."""
    count, n, columns = bins.shape
    codes = np.eye(BINS, dtype=np.float32)[bins].reshape(count, n, -1)
    node, splits = np.zeros((count, n), dtype=int), []
    classes = np.stack([1 - y, y]).astype(np.float32)
    for level in range(DEPTH + 1):
        members = (node[:, None] == np.arange(2**level)[:, None]).astype(np.float32)
        members = (members[:, :, None] * classes).reshape(count, -1, n)
        if level == DEPTH:
            counts = members.sum(axis=2).reshape(count, -1, 2)
            return splits, (counts[..., 1] > counts[..., 0]).astype(int)
        counts = (members @ codes).reshape(count, 2**level, 2, columns, BINS)
        left = counts.cumsum(axis=-1)
        right = left[..., -1:] - left
        (a, b), (c, d) = (np.moveaxis(side, 2, 0) for side in (left, right))
        impurity = a * b / np.maximum(a + b, 1) + c * d / np.maximum(c + d, 1)
        best = impurity.reshape(count, 2**level, -1).argmin(axis=2)
        splits.append(best)
        node = 2 * node + _right(bins, best, node)
    raise AssertionError


def _right(bins, best, node):
    column, cut = np.divmod(np.take_along_axis(best, node, axis=1), BINS)
    return (np.take_along_axis(bins, column[..., None], axis=2)[..., 0] > cut).astype(int)


def descend(bins, tree):
    """Predict by fitted trees: (candidate, row)."""
    splits, leaves = tree
    node = np.zeros(bins.shape[:2], dtype=int)
    for best in splits:
        node = 2 * node + _right(bins, best, node)
    return np.take_along_axis(leaves, node, axis=1)


def tree_predictions(X, y, partitions):
    bins, found = binned(X), []
    for folds in partitions:
        predicted = np.empty(X.shape[:2], dtype=int)
        for fold in range(folds.max() + 1):
            test = folds == fold
            predicted[:, test] = descend(bins[:, test], grow(bins[:, ~test], y[~test]))
        found.append(predicted)
    return np.stack(found)


class Tree(ClassifierMixin, BaseEstimator):
    """The same tree as an estimator."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.tree_ = grow(binned(X[None]), codes)
        return self

    def predict(self, X):
        return self.classes_[descend(binned(X[None]), self.tree_)[0]]


def predictions(learner, X, y, partitions):
    """Return held-out predictions (partition, candidate, row), and linear models by partition."""
    if learner in LINEAR:
        fitted, _ = LINEAR[learner]
        models = [fitted(X, y, folds, folds.max() + 1) for folds in partitions]
        found = np.stack([linear_predictions(X, *each) for each in zip(partitions, models, strict=True)])
        return (found > 0 if learner == "lda" else found), models
    if learner == "tree":
        return tree_predictions(X, y, partitions), None
    found = neighbours(X, y, partitions)
    return (found > 0.5 if learner == "knn" else found), None
