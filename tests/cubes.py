"""Unit cubes, and tasks for searches, as the engine makes them."""

import numpy as np

from lime_guarantee import Uniform
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.engine.search.base import Task


def cube_of(domain, instance, measure=None):
    """The unit cube of a domain, seen from an instance in raw values; uniform by default."""
    start = domain.encode(np.asarray(instance)[np.newaxis])[0]
    return (measure or Uniform()).cube(domain, start)


def task_of(faithful, domain, instance, *, measure=None, purity=0.99, confidence=0.99, seed=0):
    """A task for a search."""
    cube = cube_of(domain, instance, measure)
    return Task(Oracle(faithful, cube), cube.whole, purity, confidence, np.random.default_rng(seed))
