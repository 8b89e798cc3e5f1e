"""Learning curves fitted to measured errors: families of shapes, many curves at once, without starting values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats, Mask, Positions

#: The falling part: logs of the sizes in units of a reference size, log of that size, and one array per shape.
Basis = Callable[[Floats, Floats, tuple[Floats, ...]], Floats]


@dataclass(frozen=True, slots=True)
class Shape:
    """A parameter of a family's shape: its name in the formula, and the grid that it is first searched on."""

    name: str
    low: float
    high: float
    steps: int

    @property
    def grid(self) -> Floats:
        """The places to look at first."""
        return np.linspace(self.low, self.high, self.steps)


@dataclass(frozen=True, slots=True)
class Family:
    r"""Curves :math:`a + b\,\varphi_\theta(n)` with :math:`a, b \ge 0` and :math:`\varphi` falling in n.

    Sizes are in units of the largest measured size, so that one search grid suits curves of any length. ``basis`` is φ,
    ``shapes`` are the parameters θ; without ``floor`` the curve falls to 0.
    """

    name: str
    formula: str
    basis: Basis = field(repr=False)
    shapes: tuple[Shape, ...] = ()
    floor: bool = True


def _power(u: Floats, _: Floats, shapes: tuple[Floats, ...]) -> Floats:
    return np.asarray(np.exp(-shapes[0] * u))


def _shifted_power(u: Floats, _: Floats, shapes: tuple[Floats, ...]) -> Floats:
    c, log_d = shapes
    return np.asarray(np.exp(-c * (np.logaddexp(u, log_d) - np.logaddexp(0.0, log_d))))


def _sigmoid(u: Floats, _: Floats, shapes: tuple[Floats, ...]) -> Floats:
    log_d, log_k = shapes
    return 1 / (1 + np.exp(np.minimum(np.exp(log_d) * (u - log_k), 700.0)))


def _exponential(u: Floats, _: Floats, shapes: tuple[Floats, ...]) -> Floats:
    return np.asarray(np.exp(-np.exp(shapes[0]) * np.exp(u)))


def _inverse_log(u: Floats, log_unit: Floats, _: tuple[Floats, ...]) -> Floats:
    # The logarithm of one row is 0, and its inverse no error: a single row counts as two.
    return 1 / np.maximum(u + log_unit, np.log(2.0))


def _none(u: Floats, _: Floats, __: tuple[Floats, ...]) -> Floats:
    return np.zeros_like(u)


def power_law(low: float = 0.01, high: float = 0.98, *, floor: bool = True) -> Family:
    r"""Return the family :math:`a + b\,n^{-c}` with c between two ends; without a if it has no floor."""
    name, formula = ("pow3", "a + b·n^−c") if floor else ("pow2", "b·n^−c")
    return Family(name, formula, _power, (Shape("c", low, high, 25),), floor)


#: All families by name.
FAMILIES = {
    family.name: family
    for family in (
        power_law(),
        power_law(floor=False),
        Family("pow4", "a + b·(n + d)^−c", _shifted_power, (Shape("c", 0.01, 0.98, 13), Shape("ln d", -12.0, 2.0, 15))),
        Family("mmf4", "a + b/(1 + (n/k)^d)", _sigmoid, (Shape("ln d", -2.0, 1.5, 11), Shape("ln k", -9.0, 4.0, 14))),
        Family("exp3", "a + b·exp(−c·n)", _exponential, (Shape("ln c", -3.0, 8.0, 34),)),
        Family("ilog2", "a + b/ln n", _inverse_log),
        Family("constant", "a", _none),
    )
}

#: Largest number of Gauss-Newton steps, and the step below which the search stops.
_STEPS, _SMALL = 30, 1e-9
#: Initial and largest damping.
_DAMPING, _STUCK = 1e-3, 1e6
#: Numbers that one step of the search holds at a time, so that they fit in the processor's cache.
_AT_A_TIME = 400_000


@dataclass(frozen=True, slots=True)
class Fitted:
    """Fitted curves of one family, one per row.

    ``shapes`` are on the scale of the search, ``unit`` is the size that sizes are measured in, ``loss`` the weighted
    sum of squared residuals.
    """

    family: Family
    a: Floats
    b: Floats
    shapes: Floats
    unit: Floats
    loss: Floats

    def predict(self, sizes: npt.ArrayLike) -> Floats:
        """Return the curves at sizes of shape (curves, m), or (m,) for all alike."""
        log_unit = np.log(self.unit)[:, None]
        shapes = tuple(self.shapes[:, [i]] for i in range(self.shapes.shape[1]))
        u = np.log(np.asarray(sizes, dtype=np.float64)) - log_unit
        return self.a[:, None] + self.b[:, None] * self.family.basis(u, log_unit, shapes)


def fit(family: Family, sizes: npt.ArrayLike, errors: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Fitted:
    r"""Fit a family to each of many curves by weighted least squares with :math:`a, b \ge 0`.

    For given θ the best a and b have a closed form, so only θ is searched: on a grid, then by damped Gauss-Newton steps
    (variable projection). Deterministic, without starting values. Arrays are of shape (curves, points); where all
    curves share sizes or weights one row is enough. A point of weight 0 is ignored and may be NaN.
    """
    problem = Problem.of(family, sizes, errors, weights)
    parts = [_searched(part) for part in problem.parts(int(np.prod([shape.steps for shape in family.shapes])))]
    a, b, shapes, loss = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Fitted(family, a, b, shapes, problem.unit, loss)


@dataclass(frozen=True, slots=True)
class Problem:
    """Curves to be fitted, as weighted points around their means, from which the best a and b follow for any shapes."""

    family: Family
    u: Floats
    unit: Floats
    w: Floats
    centred: Floats
    mean: Floats

    @classmethod
    def of(
        cls, family: Family, sizes: npt.ArrayLike, errors: npt.ArrayLike, weights: npt.ArrayLike | None = None
    ) -> Problem:
        """Prepare the curves; the arguments are those of :func:`fit`."""
        y = np.atleast_2d(np.asarray(errors, dtype=np.float64))
        n = np.broadcast_to(np.asarray(sizes, dtype=np.float64), y.shape)
        w = np.ones_like(y) if weights is None else np.broadcast_to(np.asarray(weights, dtype=np.float64), y.shape)
        used = w > 0
        w = np.where(used, w, 0.0)
        unit = np.where(used, n, 0.0).max(axis=1)
        unit = np.where(unit > 0, unit, 1.0)
        u = np.log(np.where(used, n, unit[:, None])) - np.log(unit)[:, None]
        y = np.where(used, y, 0.0)
        total = w.sum(axis=1)
        mean = (w * y).sum(axis=1) / np.where(total > 0, total, 1.0)
        return cls(family, u, unit, w, np.where(used, y - mean[:, None], 0.0), mean)

    def parts(self, places: int) -> Iterator[Problem]:
        """Split into parts small enough to be evaluated at so many places at once."""
        step = max(1, _AT_A_TIME // (self.u.shape[1] * places))
        for start in range(0, max(len(self.u), 1), step):
            part = slice(start, start + step)
            yield self.chosen(part)

    def chosen(self, which: slice | Positions) -> Problem:
        """Return some of the curves."""
        return Problem(
            self.family, self.u[which], self.unit[which], self.w[which], self.centred[which], self.mean[which]
        )

    def solve(self, places: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the best a, the best b and the loss at places of shape (curves, shapes, places)."""
        log_unit = np.log(self.unit)[:, None, None]
        shapes = tuple(places[:, i, :, None] for i in range(places.shape[1]))
        basis = self.family.basis(self.u[:, None, :], log_unit, shapes)
        basis = np.broadcast_to(basis, (len(places), places.shape[2], self.u.shape[1]))
        w = self.w[:, :, None]
        total, mean = self.w.sum(axis=1)[:, None], self.mean[:, None]
        total = np.where(total > 0, total, 1.0)
        syy = (self.w * self.centred**2).sum(axis=1)[:, None]
        centre = (basis @ w)[..., 0] / total
        sxy = (basis @ (w * self.centred[:, :, None]))[..., 0]
        raw = ((basis * basis) @ w)[..., 0]
        sxx = raw - total * centre**2
        # What is left of the basis after its mean is taken off may be rounding alone: then it has no slope.
        slope = np.where(sxx > 1e-13 * raw, sxy / np.where(sxx > 0, sxx, 1.0), 0.0)
        b = np.maximum(slope, 0.0)
        a = mean - b * centre
        loss = syy - b * (2 * sxy - b * sxx)
        # Where a would be negative, or is not wanted, the curve goes down to 0.
        through = np.maximum((sxy + mean * total * centre) / np.where(raw > 0, raw, 1.0), 0.0)
        to_zero = (a < 0) if self.family.floor else np.ones_like(a, dtype=bool)
        loss = np.where(to_zero, syy + total * mean**2 - through**2 * raw, loss)
        # A difference of sums may be a little below 0 where the curve is exact.
        return np.where(to_zero, 0.0, a), np.where(to_zero, through, b), np.maximum(loss, 0.0)

    def residuals(self, place: Floats) -> Residuals:
        """Return the residuals at one place per curve, of shape (curves, shapes)."""
        a, b, _ = self.solve(place[:, :, None])
        basis = self._basis(place)
        left = self.centred + self.mean[:, None] - a - b * basis
        return Residuals(basis, a[:, 0], b[:, 0], left, (self.w * left**2).sum(axis=1))

    def slopes(self, place: Floats, here: Residuals) -> tuple[Floats, Floats]:
        """Return curvature and descent direction of the loss at a place, with a and b optimal there."""
        columns = []
        for i in range(place.shape[1]):
            nudge = np.zeros(place.shape[1])
            nudge[i] = 1e-6
            columns.append((self._basis(place + nudge) - self._basis(place - nudge)) / 2e-6)
        root = np.sqrt(self.w)
        moves = root[:, None, :] * here.b[:, None, None] * np.stack(columns, axis=1)
        # What a and b can make up for is no gain of the shapes.
        level = root * (here.a > 0)[:, None]
        fall = root * here.basis
        fall = fall - _along(fall, level)
        for taken in (level, fall):
            moves = moves - _along(moves, taken[:, None, :])
        left = root * here.left
        return moves @ moves.swapaxes(1, 2), (moves @ left[:, :, None])[..., 0]

    def _basis(self, place: Floats) -> Floats:
        log_unit = np.log(self.unit)[:, None]
        return self.family.basis(self.u, log_unit, tuple(place[:, [i]] for i in range(place.shape[1])))


def _along(vectors: Floats, direction: Floats) -> Floats:
    """Return the parts of vectors along a direction, both on the last axis."""
    length = (direction**2).sum(axis=-1, keepdims=True)
    share = (vectors * direction).sum(axis=-1, keepdims=True) / np.where(length > 0, length, 1.0)
    return np.asarray(direction * share)


@dataclass(frozen=True, slots=True)
class Residuals:
    """Residuals at a place: the basis there with the best a and b, residuals and loss."""

    basis: Floats
    a: Floats
    b: Floats
    left: Floats
    loss: Floats

    def chosen(self, which: Mask) -> Residuals:
        """Return those of some of the curves."""
        return Residuals(self.basis[which], self.a[which], self.b[which], self.left[which], self.loss[which])

    def replaced(self, other: Residuals, where: Mask) -> Residuals:
        """Take over another place's for some of the curves."""
        return Residuals(
            np.where(where[:, None], other.basis, self.basis),
            np.where(where, other.a, self.a),
            np.where(where, other.b, self.b),
            np.where(where[:, None], other.left, self.left),
            np.where(where, other.loss, self.loss),
        )


def _searched(problem: Problem) -> tuple[Floats, Floats, Floats, Floats]:
    """Search the shapes of each curve: on the family's grid, then step by step from its best place."""
    shapes = problem.family.shapes
    grids = np.meshgrid(*(shape.grid for shape in shapes), indexing="ij")
    lattice = np.stack([grid.ravel() for grid in grids]) if shapes else np.empty((0, 1))
    a, b, loss = problem.solve(np.broadcast_to(lattice, (len(problem.u), *lattice.shape)))
    best = loss.argmin(axis=1)
    if not shapes:
        return a[:, 0], b[:, 0], np.empty((len(problem.u), 0)), loss[:, 0]
    return _improved(problem, lattice.T[best])


def _improved(problem: Problem, place: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Go downhill from a place of shape (curves, shapes) by damped Gauss-Newton steps within the ends of the search."""
    ends = np.array([(shape.low, shape.high) for shape in problem.family.shapes]).T
    damping = np.full(len(place), _DAMPING)
    found, here = place.copy(), problem.residuals(place)
    a, b, loss = here.a.copy(), here.b.copy(), here.loss.copy()
    moving = np.arange(len(place))
    for _ in range(_STEPS):
        part, at = problem.chosen(moving), found[moving]
        tried = np.clip(at + _step(*part.slopes(at, here), at, ends, damping[moving]), *ends)
        there = part.residuals(tried)
        better = there.loss < here.loss
        found[moving[better]] = tried[better]
        here = here.replaced(there, better)
        a[moving], b[moving], loss[moving] = here.a, here.b, here.loss
        damping[moving] *= np.where(better, 0.1, 10.0)
        going = (np.abs(tried - at).max(axis=1) > _SMALL) & (damping[moving] < _STUCK)
        moving, here = moving[going], here.chosen(going)
        if not len(moving):
            break
    return a, b, found, loss


def _step(curvature: Floats, downhill: Floats, place: Floats, ends: Floats, damping: Floats) -> Floats:
    """Return the step that a damped quadratic model takes; a shape at its end is not pushed further."""
    free = ~((place <= ends[0]) & (downhill < 0) | (place >= ends[1]) & (downhill > 0))
    curvature = curvature * free[:, :, None] * free[:, None, :]
    diagonal = np.einsum("cii->ci", curvature)
    # A shape that does nothing, or must not move, has an empty row: 1 on its diagonal keeps it where it is.
    extra = np.where(diagonal > 0, damping[:, None] * diagonal, 1.0)
    steep = curvature + extra[:, :, None] * np.eye(place.shape[1])
    return np.linalg.solve(steep, (downhill * free)[..., None])[..., 0]
