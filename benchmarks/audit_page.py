"""The page of a large audit: how long it takes to write, how large it is, and how long every action takes.

    python -m benchmarks.audit_page [ROWS] [FEATURES]

Some real explanations are audited. Their records are repeated, each with limits, weights and values of its
own, so that nothing repeats that would not in a real audit. Chromium opens the page and does what people do.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from lime_guarantee import AuditReport, audit
from lime_guarantee.auditing import AuditRecord

AUDITED = 12

REPEATS = 3
"""All actions are done so often; the shortest time counts, because a busy machine adds to the others."""

ACTIONS = {
    "sort by honesty": "columnOf('honesty').head.querySelector('button').click()",
    "sort by reason": "columnOf('why').head.querySelector('button').click()",
    "search a word": "search.value = 'faithful'; search.dispatchEvent(new Event('input'))",
    "search a row": "search.value = '#77'; search.dispatchEvent(new Event('input'))",
    "search nothing": "search.value = ''; search.dispatchEvent(new Event('input'))",
    "leave a verdict out": "verdicts[0].click()",
    "take it in again": "verdicts[0].click()",
    "last page": "pages.buttons[3].click()",
    "group by a column": "document.getElementById('group-by').selectedIndex = 1; "
    "document.getElementById('group-by').dispatchEvent(new Event('change'))",
    "choose a group": "document.querySelector('#cohorts button').click()",
    "show all": "clear.click()",
    "open a row": "await toggle(found[7])",
    "open another": "await toggle(found[9])",
}


def audited(features: int) -> AuditReport:
    """A real audit of a few rows."""
    loaded = load_breast_cancer()
    X, names = loaded.data[:, :features], list(loaded.feature_names[:features])
    model = RandomForestClassifier(10, random_state=0).fit(X[:400], loaded.target[:400])
    return audit(
        explainer=LimeTabularExplainer(X[:400], feature_names=names, random_state=0),
        X=X[400 : 400 + AUDITED],
        predict_fn=model.predict_proba,
        training_data=X[:400],
        explain_kwargs={"num_samples": 500},
        effort="low",
        purity=0.9,
        confidence=0.9,
    )


def varied(record: AuditRecord, index: int, rng: np.random.Generator) -> AuditRecord:
    """A record like another, with an instance, limits and weights of its own."""
    region = record.region
    if region is None or region.explained is None:
        return dataclasses.replace(record, index=index)
    low, high = region.domain.lower, region.domain.upper
    width = region.upper - region.lower
    instance = region.lower + width * rng.random(width.size)
    share = 1.0 - 0.3 * rng.random(width.size)
    lower = np.maximum(low, instance - (instance - region.lower) * share)
    upper = np.minimum(high, instance + (region.upper - instance) * share)
    weights = np.array(region.explained.weights) * (1.0 + rng.random(width.size))
    changed = dataclasses.replace(
        region,
        instance=instance,
        lower=lower,
        upper=upper,
        reach=region.reach * share,
        explained=dataclasses.replace(region.explained, weights=tuple(weights.tolist())),
    )
    return dataclasses.replace(record, index=index, region=changed)


def large(report: AuditReport, rows: int) -> AuditReport:
    """A report of so many records."""
    rng = np.random.default_rng(0)
    records = (varied(report[i % len(report)], i, rng) for i in range(rows))
    return AuditReport(tuple(records), report.about)


def timed(page: Any, script: str) -> float:
    """Seconds that an action takes, until the next frame is painted."""
    done = "await new Promise((go) => requestAnimationFrame(() => setTimeout(go)))"
    code = f"async () => {{ const t = performance.now(); {script}; {done}; return performance.now() - t; }}"
    return float(page.evaluate(code)) / 1_000


def main(rows: int = 10_000, features: int = 30) -> None:
    """Print what was measured."""
    from playwright.sync_api import sync_playwright

    report = large(audited(features), rows)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "audit.html"
        wall, cpu = time.perf_counter(), time.process_time()
        report.to_html(path)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"{rows:,} explanations of {features} features")
        print(f"written in {wall:.1f} s ({cpu:.1f} s of a processor), {path.stat().st_size / 1e6:.1f} MB")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1_280, "height": 900})
        start = time.perf_counter()
        page.goto(path.as_uri(), timeout=300_000)
        print(f"{time.perf_counter() - start:6.2f} s  open the page")
        found = [{name: timed(page, script) for name, script in ACTIONS.items()} for _ in range(REPEATS)]
        for name in ACTIONS:
            print(f"{min(one[name] for one in found):6.2f} s  {name}")
        other = browser.new_page(viewport={"width": 1_280, "height": 900})
        start = time.perf_counter()
        other.goto(f"{path.as_uri()}#{rows - 3}", timeout=300_000)
        other.wait_for_selector("tr.detail[data-ready]")
        built = other.locator("tr.record").count()
        print(f"{time.perf_counter() - start:6.2f} s  open the page at #{rows - 3} ({built} rows built)")
        browser.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
