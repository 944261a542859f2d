# SPDX-License-Identifier: MIT
"""A metric for training loops, in the manner of torchmetrics: batches in, the verdict out."""
import inspect

import numpy as np

from ._arrays import to_numpy
from ._options import with_signature_of
from ._phase_space import measure


class Metric:
    """Collects latents and true states during an epoch and measures them at its end.

        trajectories    at most so many are kept, the first ones of the epoch; 100 take about a second
        options         of plumb.measure; resamples is 200 unless it is given

    >>> import plumb
    >>> metric = plumb.Metric()
    >>> for seed in range(2):
    ...     state = plumb.world("mass-spring").batch(20, seed=seed).state
    ...     _ = metric.update(2 * state, state)
    >>> metric.compute().verdict
    'learnt'
    >>> metric.reset()
    """

    @with_signature_of(measure, leave=("variance", "momenta", "canonical", "energy", "action", "constants"), resamples=200)
    def __init__(self, trajectories=100, **options):
        if trajectories < 4:
            raise ValueError(f"trajectories is {trajectories}, wanted at least 4")
        for name in options:
            if name not in inspect.signature(type(self).__init__).parameters:
                raise TypeError(f"no option {name}; there are {', '.join(list(inspect.signature(type(self).__init__).parameters)[2:])}")
        self.trajectories = trajectories
        self.options = {"resamples": 200, **options}
        self.reset()

    def reset(self):
        """Forgets all batches."""
        self._latent, self._truth, self._count = [], [], 0

    def update(self, latent, truth):
        """Adds a batch: latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n). Gives the metric itself."""
        latent, truth = to_numpy(latent, "latent"), to_numpy(truth, "truth")
        if latent.ndim != 3 or truth.ndim != 3 or latent.shape[:2] != truth.shape[:2]:
            raise ValueError(f"latent has shape {latent.shape} and truth {truth.shape}, wanted (trajectories, steps, 2m) and "
                             "(trajectories, steps, 2n)")
        if self._latent and (latent.shape[1:] != self._latent[0].shape[1:] or truth.shape[1:] != self._truth[0].shape[1:]):
            raise ValueError(f"latent has shape {latent.shape} and truth {truth.shape}; the batches before them had "
                             f"{self._latent[0].shape} and {self._truth[0].shape}")
        room = self.trajectories - self._count
        if room > 0:
            # Copies: the caller may use the memory again.
            self._latent.append(np.array(latent[:room]))
            self._truth.append(np.array(truth[:room]))
            self._count += len(self._latent[-1])
        return self

    def compute(self):
        """The result of plumb.measure of all batches since the last reset."""
        if not self._count:
            raise ValueError("no batch was given to update")
        return measure(np.concatenate(self._latent), np.concatenate(self._truth), **self.options)

    def __call__(self, latent, truth):
        """Adds a batch and measures all of them."""
        return self.update(latent, truth).compute()

    def __len__(self):
        return self._count

    def __repr__(self):
        return f"<Metric: {self._count} of {self.trajectories} trajectories>"
