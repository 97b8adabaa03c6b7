"""Guarantee regions: where a local explanation is faithful to its model, with a certificate."""

from pathlib import Path as _Path

# From a checkout's root, ./lime_guarantee wins over an installed copy, but has no adapters/ inside.
_root = _Path(__file__).resolve().parent.parent
if not (_Path(__file__).parent / "adapters").is_dir() and all(
    (_root / _part).is_file() for _part in ("pyproject.toml", "adapters/__init__.py")
):
    __path__.append(str(_root))

from lime_guarantee.adapters.base import Adapter
from lime_guarantee.adapters.hooks import install, is_installed, uninstall, wrap
from lime_guarantee.adapters.registry import register
from lime_guarantee.adapters.shap_values import from_shap_values
from lime_guarantee.api import find_region, guarantee_region, problem_of
from lime_guarantee.auditing import AuditComparison, AuditReport, FlaggedExplanations, assert_trusted, audit
from lime_guarantee.choosing.compare import Comparison, compare
from lime_guarantee.choosing.refit import Refit, refit
from lime_guarantee.choosing.tune import Tuning, tune
from lime_guarantee.engine.certify.certificate import Certificate
from lime_guarantee.engine.search.boundary import Boundary
from lime_guarantee.engine.search.divide import Divide
from lime_guarantee.engine.search.greedy import Greedy
from lime_guarantee.engine.search.radial import Radial
from lime_guarantee.errors import (
    GuaranteeError,
    GuaranteeWarning,
    InconsistentModelError,
    InvalidInputError,
    ModelError,
    WorkersError,
)
from lime_guarantee.problem.agreement import SameChange, SameClass, SameValue
from lime_guarantee.problem.info import ExplanationInfo
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.on_rows import OnRows
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.region.worth import Worth
from lime_guarantee.settings import Settings
from lime_guarantee.space.domain import Axis, Domain
from lime_guarantee.space.measure import Joint, Marginal, Measure, Uniform
from lime_guarantee.support.progress import Progress
from lime_guarantee.version import __version__

__all__ = [
    "Adapter",
    "AuditComparison",
    "AuditReport",
    "Axis",
    "Boundary",
    "Certificate",
    "Comparison",
    "Divide",
    "Domain",
    "ExplanationInfo",
    "FlaggedExplanations",
    "Greedy",
    "GuaranteeError",
    "GuaranteeRegion",
    "GuaranteeWarning",
    "InconsistentModelError",
    "InvalidInputError",
    "Joint",
    "Marginal",
    "Measure",
    "ModelError",
    "OnRows",
    "Problem",
    "Progress",
    "Radial",
    "Refit",
    "SameChange",
    "SameClass",
    "SameValue",
    "Settings",
    "Tuning",
    "Uniform",
    "WorkersError",
    "Worth",
    "__version__",
    "assert_trusted",
    "audit",
    "compare",
    "find_region",
    "from_shap_values",
    "guarantee_region",
    "install",
    "is_installed",
    "problem_of",
    "refit",
    "register",
    "tune",
    "uninstall",
    "wrap",
]
