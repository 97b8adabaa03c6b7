"""Pictures of regions and audits: each a display that keeps its numbers and draws them on given axes.

Every display has `plot(ax=None)`, which draws on the axes given or on those of a new figure, keeps both as
`ax_` and `figure_`, and returns the display. It is shown, saved and closed by whoever asked for it.
"""

from lime_guarantee.views.feature_row import FeatureRow
from lime_guarantee.views.plots.comparison import ComparisonDisplay
from lime_guarantee.views.plots.features import FeaturesDisplay
from lime_guarantee.views.plots.images import ImageDisplay
from lime_guarantee.views.plots.overview import RegionDisplay
from lime_guarantee.views.plots.profile import ProfileDisplay
from lime_guarantee.views.plots.reach import ReachDisplay
from lime_guarantee.views.plots.reach_strips import ReachStripsDisplay
from lime_guarantee.views.plots.slices import SliceDisplay
from lime_guarantee.views.plots.texts import Piece, TextDisplay
from lime_guarantee.views.plots.verdicts import VerdictsDisplay
from lime_guarantee.views.plots.waterfall import WaterfallDisplay

__all__ = [
    "ComparisonDisplay",
    "FeatureRow",
    "FeaturesDisplay",
    "ImageDisplay",
    "Piece",
    "ProfileDisplay",
    "ReachDisplay",
    "ReachStripsDisplay",
    "RegionDisplay",
    "SliceDisplay",
    "TextDisplay",
    "VerdictsDisplay",
    "WaterfallDisplay",
]
