"""Pictures of regions and audits: each a display that keeps its numbers and draws them on given axes."""

from lime_guarantee.plots.images import ImageDisplay
from lime_guarantee.plots.profile import ProfileDisplay
from lime_guarantee.plots.reach import ReachDisplay
from lime_guarantee.plots.rows import FeatureRow, RegionDisplay
from lime_guarantee.plots.slices import SliceDisplay
from lime_guarantee.plots.strips import ReachStripsDisplay
from lime_guarantee.plots.texts import Piece, TextDisplay
from lime_guarantee.plots.verdicts import VerdictsDisplay

__all__ = [
    "FeatureRow",
    "ImageDisplay",
    "Piece",
    "ProfileDisplay",
    "ReachDisplay",
    "ReachStripsDisplay",
    "RegionDisplay",
    "SliceDisplay",
    "TextDisplay",
    "VerdictsDisplay",
]
