"""Points drawn batch by batch: how to read them without a second copy of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

Batch = tuple[FloatArray, BoolArray]
"""Points, and whether each of them is faithful."""

MOST_FAITHFUL_KEPT = 100_000
"""The most rows of a batch that are kept for later, apart from failures."""


def joined(batches: Sequence[Batch]) -> Batch:
    """All points in one array; a single batch is returned as it is."""
    if len(batches) == 1:
        return batches[0]
    return (
        np.concatenate([points for points, _ in batches]),
        np.concatenate([faithful for _, faithful in batches]),
    )


def worth_keeping(points: FloatArray, faithful: BoolArray) -> Batch:
    """The first rows of a batch and all its failures: millions of faithful rows tell no more than some do.

    Examples
    --------
    >>> import numpy as np
    >>> points, faithful = worth_keeping(np.zeros((150_000, 1)), np.arange(150_000) != 140_000)
    >>> len(points), int((~faithful).sum())
    (100001, 1)
    """
    if len(points) <= MOST_FAITHFUL_KEPT:
        return points, faithful
    kept = ~faithful
    kept[:MOST_FAITHFUL_KEPT] = True
    return points[kept], faithful[kept]


def rows_at(batches: Sequence[Batch], places: IntArray) -> Batch:
    """The points at these places, counted over all batches.

    Examples
    --------
    >>> import numpy as np
    >>> first = np.array([[0.0], [1.0]]), np.array([True, True])
    >>> second = np.array([[2.0], [3.0]]), np.array([False, True])
    >>> rows_at([first, second], np.array([2, 0]))
    (array([[2.],
           [0.]]), array([False,  True]))
    """
    ends = np.cumsum([len(points) for points, _ in batches])
    batch_of = np.searchsorted(ends, places, side="right")
    points = np.empty((places.size, batches[0][0].shape[1]))
    faithful = np.empty(places.size, dtype=np.bool_)
    for number in np.unique(batch_of):
        drawn, good = batches[number]
        mine = batch_of == number
        rows = places[mine] - (ends[number] - len(drawn))
        points[mine], faithful[mine] = drawn[rows], good[rows]
    return points, faithful
