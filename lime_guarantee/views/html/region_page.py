"""The what-if page of a region: does the guarantee hold for other values, and what is predicted there."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.surrogates import formula_of
from lime_guarantee.region.report import answer, evidence, in_presence, worth_lines
from lime_guarantee.space.number_text import number_text
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.views.feature_row import FeatureRow, feature_rows, shown_order
from lime_guarantee.views.html.page import make_page, paragraphs

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion


def region_page(region: GuaranteeRegion) -> str:
    """The page, as text."""
    if region.radius is not None and region.measure != "uniform":
        raise InvalidInputError(
            "to_html: a ball of a measure other than 'uniform' has no page, because its limits are no "
            "distances between values. Use another search, or measure='uniform'."
        )
    problem = region.problem
    model, surrogate = _at_instance(region)
    rows = feature_rows(region, shown_order(region, parts_in_place=True))
    data = {
        "certified": bool(region),
        "presence": in_presence(region),
        "radius": region.radius,
        "features": [_feature(region, row) for row in rows],
        "formula": None if problem is None else formula_of(problem.surrogate, region.domain),
        "outputs": _outputs(region, len(surrogate)),
    }
    title = "Guarantee region"
    if region.explained is not None and region.explained.label_name is not None:
        title += f" of {region.explained.label_name}"
    return make_page(
        "region",
        title,
        _body(region, title, model, surrogate),
        {"what-if": data, "certificate": json.loads(region.to_json())},
    )


def _feature(region: GuaranteeRegion, row: FeatureRow) -> dict[str, Any]:
    """A feature, in axis coordinates: what its control and the test of the bounds need."""
    axis, i = row.axis, row.position
    return {
        "position": i,
        "name": row.name,
        "switch": axis.is_switch,
        "whole": axis.has_cells,
        "weight": row.weight_text,
        "needed": row.needed_text,
        "extent": row.extent,
        "instance": row.instance_text,
        "value": row.instance,
        "low": axis.low,
        "high": axis.high,
        "lower": float(region.lower[i]),
        "upper": float(region.upper[i]),
        "labels": [label for label, _ in row.choices],
        "allowed": [allowed for _, allowed in row.choices],
    }


def _at_instance(region: GuaranteeRegion) -> tuple[Sequence[float], Sequence[float]]:
    """What model and explanation say about the instance; nothing where that is not known."""
    if region.explained is not None:
        return region.explained.model_at_instance, region.explained.surrogate_at_instance
    if region.problem is None:
        return (), ()
    row = region.problem.instance[np.newaxis]
    answers: list[FloatArray] = [
        np.asarray(ask(row), dtype=np.float64).ravel()
        for ask in (region.problem.model, region.problem.surrogate)
    ]
    return answers[0].tolist(), answers[1].tolist()


def _outputs(region: GuaranteeRegion, count: int) -> list[str]:
    """What each of the explanation's numbers is called."""
    name = None if region.explained is None else region.explained.label_name
    if count == 1:
        return [name or "value"]
    own = None if region.explained is None else region.explained.label
    return [name if name and k == own else f"output {k}" for k in range(count)]


def _body(region: GuaranteeRegion, title: str, model: Sequence[float], surrogate: Sequence[float]) -> str:
    """All that does not change while values are tried."""
    compared = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{number_text(float(f))}</td>"
        f"<td>{number_text(float(g))}</td></tr>"
        for name, f, g in zip(_outputs(region, len(model)), model, surrogate, strict=True)
    )
    if compared:
        compared = (
            "<h2>At the instance</h2><table><thead><tr><td></td><th scope='col'>model</th>"
            f"<th scope='col'>explanation</th></tr></thead><tbody>{compared}</tbody></table>"
        )
    return f"""
<header><h1>{html.escape(title)}</h1><p>{html.escape(answer(region))}</p>
{paragraphs(worth_lines(region))}</header>
<main>
<section id="status" aria-labelledby="verdict">
<div id="where" aria-live="polite"><h2 id="verdict"></h2><ul id="left"></ul></div>
<div id="prediction" aria-live="polite"></div>
<button type="button" id="reset">Reset to the instance</button>
</section>
<noscript><p>Trying values needs JavaScript; the certificate below does not.</p></noscript>
<h2>{"Parts of the instance" if in_presence(region) else "Features"}</h2>
<div id="features" class="{"parts" if in_presence(region) else "sliders"}"></div>
<section id="evidence">{compared}<h2>Certificate</h2>{paragraphs(evidence(region))}
<p><a id="download" download="region.json">Download the certificate as JSON</a></p></section>
</main>
"""
