"""Screenshots of an audit's page and of certificates, from a real run on Adult: to look at, and for docs.

    python docs/screenshots_audit.py FOLDER

`screenshots(browser, folder)` takes them with a browser that is open already.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pandas
from lime.lime_tabular import LimeTabularExplainer
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from lime_guarantee import AuditReport, audit, guarantee_region, wrap
from lime_guarantee.cli.coding import CodedFunction, Coding

ADULT = Path(__file__).parent.parent / "benchmarks" / "data" / "adult.csv"
LOOKS = [("light", 1_280, 900), ("light", 390, 844), ("dark", 1_280, 900)]
QUICK = {"purity": 0.95, "confidence": 0.95, "effort": "low"}


class Adult:
    """Who earns more than 50,000 dollars: a model of the census data, and LIME."""

    def __init__(self) -> None:
        table = pandas.read_csv(ADULT)
        table.index = [f"A-{place:05d}" for place in range(len(table))]
        answers = table.pop("income")
        self.train, self.rows = table.iloc[:1_400], table.iloc[1_400:]
        self.coding = Coding.of(self.train, self.rows)
        words = list(table.columns[list(self.coding.words)])
        encoder = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough"
        )
        model = make_pipeline(encoder, GradientBoostingClassifier(random_state=0))
        model.fit(self.train, answers.iloc[:1_400])
        self.predict = CodedFunction(model.predict_proba, self.coding)
        self.codes = self.coding.codes(self.train)
        self.explainer = LimeTabularExplainer(
            self.codes,
            feature_names=list(table.columns),
            categorical_features=list(self.coding.words),
            categorical_names=self.coding.names,
            class_names=["up to 50K", "above 50K"],
            random_state=0,
        )

    def audit(self, count: int) -> AuditReport:
        """Audit some rows that the model was not fitted on."""
        names = list(self.rows.columns)
        rows = self.rows.iloc[:count]
        return audit(
            explainer=self.explainer,
            X=pandas.DataFrame(self.coding.codes(rows), columns=names, index=rows.index),
            predict_fn=self.predict,
            training_data=self.coding.training_data(self.codes),
            data=self.codes,
            explain_kwargs={"num_samples": 1_000, "top_labels": 1},
            **QUICK,
        )

    def region(self, row: int) -> Any:
        """The region of one row, with what held-out rows say."""
        held_out = self.coding.codes(self.rows)
        explainer = wrap(self.explainer, training_data=self.coding.training_data(self.codes))
        explanation = explainer.explain_instance(held_out[row], self.predict, num_samples=1_000)
        return guarantee_region(explanation, validation_data=held_out, random_state=0, **QUICK)


def screenshots(browser: Any, folder: Path, count: int = 60) -> None:
    """Audit, write the pages, and photograph them: light, dark and on a phone."""
    adult = Adult()
    report = adult.audit(count)
    report.to_html(folder / "audit.html")
    worst = report.worst(most=1)[0].index
    report.to_certificate(folder / "certificate-audit.html")
    report.to_certificate(folder / "certificate-record.html", index=worst)
    adult.region(3).to_certificate(folder / "certificate-region.html", row=adult.rows.index[3])
    pages = {
        "audit": "",
        "audit-open": f"#{worst}",
        "certificate-audit": "",
        "certificate-record": "",
        "certificate-region": "",
    }
    for name, place in pages.items():
        for scheme, width, height in LOOKS:
            _photograph(browser, folder, name, place, scheme, width, height)


def _photograph(
    browser: Any, folder: Path, name: str, place: str, scheme: str, width: int, height: int
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(f"{(folder / name.removesuffix('-open')).with_suffix('.html').as_uri()}{place}")
    if place:
        page.wait_for_selector("tr.detail[data-ready]")
    if name == "audit":
        page.get_by_label("Compare verdicts by").select_option(label="relationship")
    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=not place)
    if not place:
        page.screenshot(path=folder / f"{name}-{width}-{scheme}-first.png")
    if name.startswith("certificate"):
        page.pdf(path=folder / f"{name}.pdf", prefer_css_page_size=True)
    context.close()


def main(folder: Path) -> None:
    """Open a browser, and take all screenshots."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        screenshots(browser, folder.resolve())
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
