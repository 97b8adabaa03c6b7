"""The what-if page of a region: does the guarantee hold for other values, and what is predicted there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.agreement import SameChange, SameClass
from lime_guarantee.problem.surrogates import formula_of
from lime_guarantee.region.report import answer, evidence, in_presence, worth_lines
from lime_guarantee.space.axis import Axis
from lime_guarantee.space.number_text import number_text
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.views.feature_row import FeatureRow, feature_rows, shown_order
from lime_guarantee.views.html.curves import Curve, Curves, ask_along
from lime_guarantee.views.html.page import make_page, paragraphs
from lime_guarantee.views.html.parts import whole_of
from lime_guarantee.views.plots.scales import histogram

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

FEW = 4
"""With so many features, or fewer, their charts are larger."""

MANY = 40
"""With more features than this, a page has a search for them, and builds only some of them at a time."""

NARROWEST = 4.0
"""Charts span at least so many tolerances from bottom to top: what is less is no difference."""

DIGITS = 5
"""Of the model's answers, as a page keeps them; places keep so many of the feature's range."""


def region_page(region: GuaranteeRegion, *, model: bool = True, data: Any = None) -> str:
    """The page, as text; see `GuaranteeRegion.to_html`."""
    if region.radius is not None and region.measure != "uniform":
        raise InvalidInputError(
            "to_html: a ball of a measure other than 'uniform' has no page, because its limits are no "
            "distances between values. Use another search, or measure='uniform'."
        )
    problem = region.problem
    points = _points(region, data)
    curves = ask_along(region, problem, points) if model and problem is not None else None
    at_instance = _at_instance(region, curves)
    rows = feature_rows(region, shown_order(region, parts_in_place=True))
    formula = None if problem is None else formula_of(problem.surrogate, region.domain)
    what_if = {
        "certified": bool(region),
        "presence": in_presence(region),
        "radius": region.radius,
        "many": MANY,
        "formula": formula,
        "outputs": _outputs(region, len(at_instance[0])),
        "chosen": int(np.argmax(at_instance[0])) if at_instance[0] else 0,
        "model": at_instance[0],
        "surrogate": at_instance[1],
        "change": problem is not None and isinstance(problem.agreement, SameChange),
        "asked": 0 if curves is None else curves.asked,
        "narrowest": NARROWEST * float(getattr(problem and problem.agreement, "tolerance", 0.0)),
        "features": [
            _feature(region, row) | _shown(row, points, curves, opaque=formula is None) for row in rows
        ],
        **whole_of(problem),
    }
    body = _body(region, at_instance, len(rows), _without(region, model=model))
    name = _label(region)
    return make_page(
        "region",
        "Guarantee region" + ("" if name is None else f" of {name}"),
        body,
        {"what-if": what_if, "certificate": json.loads(region.to_json())},
        scripts=("formula.js", "curve.js", "parts.js", "panel.js"),
    )


def _points(region: GuaranteeRegion, data: Any) -> FloatArray | None:
    """Rows in the domain's coordinates: those given, or those remembered; None if there are none."""
    if data is not None and data is not False:
        return region.domain.encode(data)
    if data is False or region.problem is None or in_presence(region):
        return None
    known = replace(region.domain, observed=region.problem.domain.observed).observed_rows
    return known if len(known) else None


def _feature(region: GuaranteeRegion, row: FeatureRow) -> dict[str, Any]:
    """A feature, in axis coordinates: what its control and the test of the bounds need."""
    axis, i = row.axis, row.position
    return {
        "position": i,
        "name": row.name,
        "switch": axis.is_switch,
        "whole": axis.has_cells,
        "ordered": axis.ordered,
        "weight": row.weight_text,
        "size": row.weight or 0.0,
        "needed": row.needed_text,
        "extent": row.extent,
        "limits": bool(region) and not row.constant and row.reach < 1,
        "instance": row.instance_text,
        "value": row.instance,
        "low": axis.low,
        "high": axis.high,
        "lower": float(region.lower[i]),
        "upper": float(region.upper[i]),
        "labels": [label for label, _ in row.choices],
        "allowed": [allowed for _, allowed in row.choices],
    }


def _shown(
    row: FeatureRow, points: FloatArray | None, curves: Curves | None, *, opaque: bool
) -> dict[str, Any]:
    """The data's histogram and the curves of a feature, where they are known."""
    shown: dict[str, Any] = {}
    if points is not None and not row.constant:
        heights = histogram(row.axis, points[:, row.position])
        shown["bars"] = np.ceil(100 * heights).astype(int).tolist()
    if curves is not None and not row.constant:
        shown["curve"] = _curve(row.axis, curves.along[row.position], opaque=opaque)
    return shown


def _curve(axis: Axis, curve: Curve, *, opaque: bool) -> dict[str, Any]:
    """A curve in few digits; the explanation's own is left out where the page can compute it."""
    digits = 0 if axis.has_cells else DIGITS - int(np.floor(np.log10(axis.high - axis.low)))
    return {
        "at": np.round(curve.places, max(0, digits)).tolist(),
        "model": _short(curve.model.T),
        "surrogate": _short(curve.surrogate.T) if opaque else None,
        "fails": np.flatnonzero(~curve.faithful).tolist(),
    }


def _short(numbers: FloatArray) -> list[list[float]]:
    return [[float(f"{number:.{DIGITS}g}") for number in line] for line in numbers.tolist()]


def _at_instance(region: GuaranteeRegion, curves: Curves | None) -> tuple[list[float], list[float]]:
    """What model and explanation say about the instance; nothing where that is not known."""
    if region.explained is not None:
        return list(region.explained.model_at_instance), list(region.explained.surrogate_at_instance)
    if curves is not None:
        return curves.model.tolist(), curves.surrogate.tolist()
    return [], []


def _label(region: GuaranteeRegion) -> str | None:
    """What was explained; shap calls a class that has no name "Output 1"."""
    explained = region.explained
    if explained is None or explained.label_name is None:
        return None
    unnamed = explained.agreement == "class" and explained.label_name == f"Output {explained.label}"
    return f"class {explained.label}" if unnamed else explained.label_name


def _outputs(region: GuaranteeRegion, count: int) -> list[str]:
    """What each of the model's numbers is called."""
    explained, problem = region.explained, region.problem
    if explained is not None and len(explained.outputs) == count:
        return list(explained.outputs)
    by_class = problem is not None and isinstance(problem.agreement, SameClass)
    if explained is not None and explained.label is not None:
        by_class = True
        if count == 1:
            return [_label(region) or f"class {explained.label}"]
    return [f"class {k}" if by_class else f"output {k}" for k in range(count)] if count > 1 else ["value"]


def _without(region: GuaranteeRegion, *, model: bool) -> str:
    """Why there are no curves of the model, in a sentence; empty if there are."""
    if region.problem is None:
        return (
            "There are no curves of the model here: the region does not have it. It was read from JSON or a "
            "pickle, or found for a bare function."
        )
    return "" if model else "The model was left out of this page: there are no curves of it."


def _body(
    region: GuaranteeRegion, at_instance: tuple[Sequence[float], Sequence[float]], count: int, without: str
) -> str:
    """All that does not change while values are tried."""
    name, parts = _label(region), in_presence(region)
    of = "" if name is None else f" of <bdi>{escape(name)}</bdi>"
    return f"""
<header><h1>Guarantee region{of}</h1><p>{escape(answer(region))}</p>
{paragraphs(worth_lines(region))}</header>
<main>
<div class="side">
<section id="status" aria-labelledby="verdict">
<div id="where" aria-live="polite"><h2 id="verdict"></h2><ul id="left"></ul></div>
<div id="says" role="group" aria-label="What explanation and model say">
<div id="prediction" aria-live="polite"></div><div id="said" aria-live="polite"></div></div>
<button type="button" id="reset">Reset to the instance</button>
</section>
<section id="weights" aria-labelledby="weights-title" hidden><h2 id="weights-title">Weights</h2></section>
</div>
<section class="stage" aria-labelledby="stage-title">
<h2 id="stage-title">{"Parts of the instance" if parts else "Features"}</h2>
<noscript><p>Trying values needs JavaScript; the certificate below does not.</p></noscript>
{_search() if count > MANY and not parts else ""}
<p id="without">{escape(without)}</p>
<div id="legend"></div>
<div id="whole"></div>
<div id="features" class="{"parts" if parts else "sliders few" if count <= FEW else "sliders"}"></div>
<p><button type="button" id="more" hidden></button></p>
</section>
<section id="evidence">{_compared(region, *at_instance)}<div><h2>Certificate</h2>
{paragraphs(evidence(region))}
<p><a id="download" download="region.json">Download the certificate as JSON</a></p></div></section>
</main>
"""


def _search() -> str:
    """Above many features: find some of them."""
    return """<form id="find" role="search"><label>Find <input type="search" id="search"
placeholder="part of a name"></label>
<label><input type="checkbox" id="limits"> only what limits the region</label>
<p id="shown" role="status"></p></form>"""


def _compared(region: GuaranteeRegion, model: Sequence[float], surrogate: Sequence[float]) -> str:
    """Model and explanation at the instance, as a table; empty where they are not known."""
    if not model:
        return ""
    rows = "".join(
        f"<tr><th scope='row'><bdi>{escape(name)}</bdi></th><td>{number_text(float(f))}</td>"
        f"<td>{number_text(float(g))}</td></tr>"
        for name, f, g in zip(_outputs(region, len(model)), model, surrogate, strict=True)
    )
    return (
        "<div><h2>At the instance</h2><table><thead><tr><th scope='col'>of</th><th scope='col'>model</th>"
        f"<th scope='col'>explanation</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
