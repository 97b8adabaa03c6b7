"""What tests of pictures share: regions made by hand, and ways to look at what was drawn."""

import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

from lime_guarantee import Domain, ExplanationInfo, GuaranteeRegion, Settings

matplotlib.use("agg")

BASELINES = Path(__file__).parent / "baseline_images"
TOLERANCE = 4.0
"""What pixels may differ by (root mean square, of 255): versions smooth lines differently."""


def explained(weights, **changes):
    settings = {
        "kind": "lime tabular",
        "space": "features",
        "label": 1,
        "label_name": "yes",
        "agreement": "value",
        "tolerance": 0.5,
        "model_at_instance": (1.0,),
        "surrogate_at_instance": (1.0,),
        "weights": tuple(map(float, weights)),
    }
    return ExplanationInfo(**{**settings, **changes})


def _reach(axis, lower, upper, allowed):
    """The share of an axis between bounds, or of its categories."""
    return (len(allowed) if allowed else upper - lower + axis.unit) / axis.width


def region_of(domain, instance, lower, upper, *, allowed=None, **changes):
    """A region as it would come from a search; pictures do not ask what certified it."""
    held = [(axis, lower[i], upper[i], (allowed or {}).get(axis.name)) for i, axis in enumerate(domain.axes)]
    settings = {
        "status": "certified",
        "settings": Settings(confidence=0.95, random_state=0),
        "certificate": None,
        "evaluations": 1,
        "calls": 1,
        "measure": "uniform",
        "reach": [_reach(axis, *bounds) for axis, *bounds in held],
        "log10_share": 0.0,
        "log10_volume": 0.0,
        "widened": (),
        "reason": "",
        "radius": None,
        "version": "0",
    }
    return GuaranteeRegion(
        domain=domain,
        instance=instance,
        lower=lower,
        upper=upper,
        allowed=allowed or {},
        **settings | changes,
    )


MIXED = Domain.from_bounds(
    [0, -1, 1, 0, 0, 5],
    [10, 1, 9, 0, 1, 5],
    names=["income", "balance", "rooms", "colour", "owner", "planet"],
    integer=["rooms", "owner"],
    categories={"colour": ["red", "green", "blue", "violet"]},
)


def mixed_region(weights=(0.3, -1.4, 0.1, -0.05, 0.0, 0.0), **changes):
    """One feature of each kind: free, bounded, integer, categorical, binary and constant."""
    return region_of(
        MIXED,
        [4.0, 0.25, 5.0, "blue", 1.0, 5.0],
        [0.0, -0.5, 3.0, 0.0, 1.0, 5.0],
        [10.0, 0.75, 6.0, 2.0, 1.0, 5.0],
        allowed={"colour": ("blue", "red")},
        explained=None if weights is None else explained(weights),
        **changes,
    )


def mixed_data(count=200):
    rng = np.random.default_rng(0)
    columns = [
        rng.gamma(3, 1, count),
        rng.normal(0, 0.4, count),
        rng.integers(1, 10, count),
        rng.choice(["red", "green", "blue", "violet"], count),
        rng.integers(0, 2, count),
        np.full(count, 5),
    ]
    return np.array(columns, dtype=object).T


def empty_axes(width=6.0, height=4.0):
    """Axes of a figure that pyplot knows nothing of, always in the same place."""
    return Figure(figsize=(width, height), dpi=60).add_axes([0.2, 0.15, 0.75, 0.7])


def texts(figure):
    """All that is written and seen."""
    off = [
        label
        for ax in figure.axes
        if not ax.axison
        for label in (*ax.get_xticklabels(), *ax.get_yticklabels())
    ]
    return [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in off
    ]


def overlapping(figure):
    """Pairs of texts that hide each other; slanted ones, whose frames say little, are left out."""
    figure.draw_without_rendering()
    shown = [
        (text.get_text(), text.get_window_extent()) for text in texts(figure) if not text.get_rotation() % 90
    ]
    return [
        (a, b)
        for i, (a, one) in enumerate(shown)
        for b, other in shown[:i]
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 1.5
        and min(one.y1, other.y1) - max(one.y0, other.y0) > 1.5
    ]


def bars(ax, colours):
    """(left, bottom, width, height) of the rectangles of some colours."""
    wanted = [matplotlib.colors.to_rgba(colour) for colour in colours]
    return [
        (*patch.get_xy(), patch.get_width(), patch.get_height())
        for patch in ax.patches
        if hasattr(patch, "get_xy") and patch.get_facecolor() in wanted
    ]


def difference(ax, name, folder):
    """How a picture differs from the one kept: None if it does not. Letters differ between versions."""
    for written in (*ax.figure.findobj(Text), *ax.figure.findobj(Legend)):
        written.set_visible(False)
    drawn, kept = folder / f"{name}.png", BASELINES / f"{name}.png"
    ax.figure.savefig(drawn, dpi=60)
    if os.environ.get("WRITE_BASELINE_IMAGES") == "1":
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(drawn.read_bytes())
    if not kept.is_file():
        pytest.fail(
            f"There is no {kept.name} to compare with: look at {drawn}, then WRITE_BASELINE_IMAGES=1."
        )
    return compare_images(str(kept), str(drawn), tol=TOLERANCE)
