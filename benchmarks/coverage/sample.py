"""A sample: the rows of one repetition, the fits that its methods share, and the truth about its models."""

from __future__ import annotations

import zlib
from functools import cached_property

import numpy as np
from sklearn.base import clone
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks.coverage.generators import GENERATORS
from truefit import Engine, assess

#: Fresh rows on which a model's true error is measured. Their own noise is at most a fiftieth of the variance of an
#: estimate from 400 rows.
TEST_ROWS = 20_000


class Sample:
    """One draw of a setting. It depends on the setting's name and the repetition alone."""

    def __init__(self, setting, repetition):
        self.setting = setting
        self._generator = GENERATORS[setting.generator]
        seeds = np.random.SeedSequence([zlib.crc32(setting.name.encode()), repetition]).spawn(3)
        rng, self._fresh, self._more = (np.random.default_rng(seed) for seed in seeds)
        self.X, self.y = self._generator.sample(rng, setting.n)
        self.seed = int(rng.integers(2**31 - 1))
        self.engine = Engine(progress=False)

    def assess(self, estimator=None, **options):
        """Call ``truefit.assess`` on the rows, with fits shared among the methods."""
        learner = self.setting.estimator if estimator is None else estimator
        return assess(learner, self.X, self.y, random_state=self.seed, engine=self.engine, **options)

    @cached_property
    def _test(self):
        return self._generator.sample(self._fresh, TEST_ROWS)

    @cached_property
    def model(self):
        """The learner trained on all rows: what every interval is about."""
        return clone(self.setting.estimator).fit(self.X, self.y)

    @cached_property
    def _errors(self):
        return {}

    def error_of(self, model, name):
        """Return the true error of a model; the name tells models of this sample apart."""
        if name not in self._errors:
            X, y = self._test
            predicted = model.predict(X)
            generator = self._generator
            if generator.task == "classification":
                error = np.mean(predicted != y)
            else:
                error = np.mean((predicted - generator.signal(X)) ** 2) + generator.noise_variance
            self._errors[name] = float(error)
        return self._errors[name]

    def fresh_losses(self):
        """Losses of the model on as many fresh rows as it was trained on."""
        X, y = self._generator.sample(self._more, self.setting.n)
        predicted = self.model.predict(X)
        return (predicted != y).astype(float) if self.setting.task == "classification" else (predicted - y) ** 2

    @property
    def error(self):
        return self.error_of(self.model, "the model")

    @cached_property
    def auc(self):
        X, y = self._test
        return float(roc_auc_score(y, self.model.predict_proba(X)[:, 1]))

    @cached_property
    def f1(self):
        X, y = self._test
        return float(f1_score(y, self.model.predict(X)))
