"""What an audit was about, in words: for pages and certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from lime_guarantee.auditing.verdict import Rules
from lime_guarantee.problem.fingerprint import digest, fingerprint_of_answers
from lime_guarantee.region.statement import settings_in_words
from lime_guarantee.settings import SETTINGS


def facts_of(about: Mapping[str, Any], version: str) -> dict[str, str]:
    """Model, rows, data, settings, rules, seed and version; what is not known is left out."""
    if not about:
        return {"version": f"lime-guarantee {version}"}
    model, explainer = about.get("model") or {}, about.get("explainer") or {}
    found = {
        "model": _model_name(model.get("type", ""), model.get("function", "")),
        "model fingerprint": _model_fingerprint(model),
        "explainer": explainer.get("type", ""),
        "rows audited": f"{about['explanations']:,}, fingerprint {about['rows']}" if "rows" in about else "",
        "training data": _fingerprint(about.get("training_data")),
        "data": _fingerprint(about.get("data")),
        "settings": settings_in_words({name: about.get(name) for name in SETTINGS}),
        "agreement": _listed({name: about.get(name) for name in ("agreement", "tolerance", "label")}),
        "rules": _listed({rule.name: about.get(rule.name) for rule in fields(Rules)}),
        "options": _listed({**(about.get("options") or {}), **(about.get("explain_kwargs") or {})}),
        "seed": str(about.get("random_state", "")),
        "version": f"lime-guarantee {version}",
    }
    return {name: text for name, text in found.items() if text}


def _model_name(kind: str, function: str) -> str:
    """The type of a model and what is asked of it; of a plain function, its name."""
    return f"function {function}" if kind == "builtins.function" else f"{kind}.{function}".strip(".")


def _model_fingerprint(model: Mapping[str, Any]) -> str:
    """Of its parameters, where it has some, and of its answers to some rows."""
    parts = []
    if model.get("parameters"):
        parts.append(f"parameters {digest(repr(model['parameters']))}")
    answers = model.get("answers")
    if isinstance(answers, list):
        parts.append(f"answers to the first {len(answers)} rows {fingerprint_of_answers(answers)}")
    return ", ".join(parts)


def _fingerprint(found: str | None) -> str:
    return f"fingerprint {found}" if found else ""


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)
