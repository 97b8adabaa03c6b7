"""What-if pages of real explanations, and pictures of them: ``python docs/make_screenshots.py FOLDER``.

Needs the extra ``test`` (for playwright) and chromium. Every page is photographed at a desk (1280 x 900), on
a phone (390 x 844) and in the dark; `figures.json` has the sizes, heights and times.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lime.lime_image import LimeImageExplainer
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer
from playwright.sync_api import Browser, sync_playwright
from skimage.segmentation import slic
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_sample_image, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from lime_guarantee import GuaranteeRegion, wrap

ROOT = Path(__file__).parent.parent
TRIED = """() => {
  whatIf.features.slice(0, 4).forEach((feature, i) => change(i, i % 2 ? feature.high : feature.low));
  document.querySelector(".stage").scrollIntoView();
}"""
"""Some values are tried: parts are taken away, numbers moved to the ends of their ranges."""

LOOKS = {"desk": (1280, 900, "light"), "phone": (390, 844, "light"), "dark": (1280, 900, "dark")}


def iris() -> GuaranteeRegion:
    """Three classes, all of them explained."""
    data = load_iris()
    X, held_out, y, _ = train_test_split(data.data, data.target, random_state=0)
    model = RandomForestClassifier(random_state=0).fit(X, y)
    lime = LimeTabularExplainer(
        X, feature_names=data.feature_names, class_names=data.target_names, random_state=0
    )
    explainer = wrap(lime, training_data=X)
    explanation = explainer.explain_instance(held_out[3], model.predict_proba, top_labels=3)
    return explanation.guarantee_region(validation_data=held_out, random_state=0)


def thirty() -> GuaranteeRegion:
    """All thirty features of the breast-cancer data."""
    data = load_breast_cancer()
    X, held_out, y, _ = train_test_split(data.data, data.target, random_state=0)
    model = RandomForestClassifier(random_state=0).fit(X, y)
    lime = LimeTabularExplainer(
        X, feature_names=data.feature_names, class_names=data.target_names, random_state=0
    )
    explanation = wrap(lime, training_data=X).explain_instance(held_out[2], model.predict_proba)
    return explanation.guarantee_region(random_state=0)


def three_hundred() -> GuaranteeRegion:
    """Three hundred generated features, twenty of which tell something."""
    X, y = make_classification(600, 300, n_informative=20, class_sep=2.0, random_state=0)
    model = LogisticRegression(C=0.01, max_iter=1_000).fit(X, y)
    names = [f"sensor {i:03d}" for i in range(300)]
    lime = LimeTabularExplainer(
        X,
        feature_names=names,
        class_names=["idle", "alarm"],
        discretize_continuous=False,
        random_state=0,
    )
    explainer = wrap(lime, training_data=X)
    explanation = explainer.explain_instance(X[1], model.predict_proba, num_features=60)
    return explanation.guarantee_region(random_state=0, agreement="change", tolerance=0.2)


def adult() -> GuaranteeRegion:
    """Who earns more than 50,000 dollars: numbers and categories by name."""
    import pandas as pd

    table = pd.read_csv(ROOT / "benchmarks/data/adult.csv")
    y = (table.pop("income") == ">50K").to_numpy().astype(int)
    texts = [i for i, kind in enumerate(table.dtypes) if str(kind) in ("object", "str")]
    names = {i: sorted(table.iloc[:, i].unique()) for i in texts}
    coded = table.copy()
    for i in texts:
        coded[table.columns[i]] = [names[i].index(value) for value in table.iloc[:, i]]
    X = coded.to_numpy(dtype=float)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts), remainder="passthrough"
    )
    model = make_pipeline(encode, GradientBoostingClassifier(random_state=0)).fit(X, y)
    lime = LimeTabularExplainer(
        X,
        feature_names=list(table.columns),
        class_names=["up to 50K", "over 50K"],
        categorical_features=texts,
        categorical_names=names,
        random_state=0,
    )
    explanation = wrap(lime, training_data=X).explain_instance(X[7], model.predict_proba)
    return explanation.guarantee_region(random_state=0, agreement="change")


WORDS = {
    "bad": ["bad", "awful", "dull", "poor", "boring", "weak", "tedious"],
    "good": ["good", "great", "lovely", "superb", "charming", "fine", "moving"],
}
OTHERS = [
    "the",
    "film",
    "a",
    "plot",
    "was",
    "and",
    "actor",
    "scene",
    "very",
    "it",
    "story",
    "with",
    "ending",
    "to",
]
REVIEW = (
    "The plot was superb and the actor charming, with a lovely scene at the lake; "
    "a very dull ending to the story, and the music was bad."
)


def text() -> GuaranteeRegion:
    """A review, and a classifier of reviews that were put together from a few words."""
    rng = np.random.default_rng(0)
    classes = list(WORDS)
    stars = rng.integers(0, 2, 400)
    reviews = [
        " ".join(
            rng.permutation(
                [*rng.choice(OTHERS, 9), *rng.choice(WORDS[classes[k]], 3), rng.choice(WORDS[classes[1 - k]])]
            )
        )
        for k in stars
    ]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(reviews, stars)
    explainer = wrap(LimeTextExplainer(class_names=classes, random_state=0))
    explanation = explainer.explain_instance(REVIEW, model.predict_proba, num_features=10)
    return explanation.guarantee_region(random_state=0, agreement="change", tolerance=0.1)


def image() -> GuaranteeRegion:
    """A flower, told from a temple by the colours of its parts."""
    flower, temple = (load_sample_image(f"{name}.jpg") for name in ("flower", "china"))
    rng = np.random.default_rng(0)

    def colours(images: Any) -> Any:
        """How much of a picture is red, green, blue, bright and dark, in each of four by four fields."""
        fields = np.asarray(images, dtype=float)[:, ::8, ::8] / 255
        high, wide = fields.shape[1] // 4, fields.shape[2] // 4
        cut = fields[:, : 4 * high, : 4 * wide].reshape(len(fields), 4, high, 4, wide, 3)
        return cut.mean(axis=(2, 4)).reshape(len(fields), -1)

    def crops(picture: Any, count: int) -> list[Any]:
        places = rng.integers(0, (picture.shape[0] - 256, picture.shape[1] - 256), (count, 2))
        return [picture[y : y + 256, x : x + 256] for y, x in places]

    pictures = [*crops(flower, 80), *crops(temple, 80)]
    model = make_pipeline(LogisticRegression(C=30, max_iter=2_000)).fit(
        colours(pictures), np.repeat([1, 0], 80)
    )
    picture = flower[80:336, 220:476]
    explainer = wrap(LimeImageExplainer(random_state=0))
    explanation = explainer.explain_instance(
        picture,
        lambda images: model.predict_proba(colours(images)),
        hide_color=0,
        num_samples=400,
        segmentation_fn=lambda picture: slic(picture, n_segments=36, compactness=25, start_label=0),
    )
    return explanation.guarantee_region(random_state=0, agreement="change", tolerance=0.05)


CASES: dict[str, Callable[[], GuaranteeRegion]] = {
    "iris": iris,
    "30-features": thirty,
    "300-features": three_hundred,
    "adult": adult,
    "text": text,
    "image": image,
}


def photograph(browser: Browser, page_file: Path, folder: Path, name: str) -> dict[str, int]:
    """Pictures of a page, of the whole and of what is seen first; returns the page's heights."""
    heights = {}
    for look, (width, height, scheme) in LOOKS.items():
        size: Any = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(page_file.as_uri())
        page.wait_for_timeout(400)  # a picture is unpacked
        heights[look] = page.evaluate("document.documentElement.scrollHeight")
        page.screenshot(path=folder / f"{name}-{look}-first.png")
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)
        page.evaluate(TRIED)
        page.screenshot(path=folder / f"{name}-{look}-tried.png")
        context.close()
    return heights


def main() -> None:
    """Write pages, pictures and figures into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    figures = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in options.only:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the libraries' own
                region = CASES[name]()
                start = time.perf_counter()
                page = region.to_html(options.folder / f"{name}.html")
            seconds = time.perf_counter() - start
            heights = photograph(browser, options.folder / f"{name}.html", options.folder, name)
            figures[name] = {
                "status": region.status,
                "bytes": len(page.encode()),
                "seconds": round(seconds, 2),
            }
            figures[name] |= {f"height, {look}": height for look, height in heights.items()}
            print(name, figures[name])
        browser.close()
    (options.folder / "figures.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
