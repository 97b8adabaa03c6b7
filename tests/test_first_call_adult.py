"""The census: text and whole numbers, a ColumnTransformer, explained by LIME and by shap from Python."""

import numpy as np
import pandas as pd
import pytest
from lime.lime_tabular import LimeTabularExplainer
from shap_cases import shap, theirs
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from lime_guarantee import from_shap_values, install, wrap
from lime_guarantee.space.measure import Marginal

ASKED = {"purity": 0.95, "effort": "low", "random_state": 0}


class Census:
    """The data, the pipeline, and its rows in codes as LIME takes them."""

    def __init__(self, path):
        table = pd.read_csv(path)
        self.rows, wealthy = table.drop(columns="income"), table["income"] == ">50K"
        self.train, self.test, target, _ = train_test_split(self.rows, wealthy, random_state=0)
        self.text = [name for name in self.rows if self.rows[name].dtype.kind not in "if"]
        numbers = [name for name in self.rows if name not in self.text]
        seen = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), self.text), (StandardScaler(), numbers)
        )
        self.model = make_pipeline(seen, LogisticRegression(max_iter=500)).fit(self.train, target)
        self.encoder = OrdinalEncoder().fit(self.rows[self.text])
        self.places = [list(self.rows).index(name) for name in self.text]

    def encoded(self, rows):
        codes = self.encoder.transform(rows[self.text])
        return rows.assign(**dict(zip(self.text, codes.T, strict=True))).to_numpy(dtype=float)

    def decoded(self, codes):
        rows = pd.DataFrame(codes, columns=list(self.rows))
        names = self.encoder.inverse_transform(rows[self.text].to_numpy())
        return rows.astype(dict.fromkeys(self.text, object)).assign(
            **dict(zip(self.text, names.T, strict=True))
        )

    def scores(self, codes):
        return self.model.predict_proba(self.decoded(codes))

    def lime(self):
        called = zip(self.places, self.encoder.categories_, strict=True)
        return LimeTabularExplainer(
            self.encoded(self.train),
            feature_names=list(self.rows),
            class_names=["poor", "wealthy"],
            categorical_features=self.places,
            categorical_names={place: list(names) for place, names in called},
            random_state=0,
        )


@pytest.fixture(scope="module")
def census():
    from pathlib import Path

    return Census(Path(__file__).parent.parent / "benchmarks" / "data" / "adult.csv")


def faithful_on(region, census, rows):
    """The share of rows, drawn in the region, on which the answers of pipeline and surrogate agree."""
    model, own = region.problem.model(rows), region.problem.surrogate(rows)
    assert model == pytest.approx(census.model.predict_proba(as_frame(rows, census))[:, 1], abs=1e-9)
    return ((np.abs(model - own) < 0.1) | ((model >= 0.5) == (own >= 0.5))).mean()


def as_frame(rows, census):
    if rows.dtype == object:
        return pd.DataFrame(rows, columns=list(census.rows)).infer_objects()
    return census.decoded(rows)


@pytest.mark.parametrize("data", ["as installed", "as LIME has it", "as it came"])
def test_the_census_explained_by_lime(census, data):
    explainer = census.lime()
    given = {"as installed": None, "as LIME has it": census.encoded(census.train), "as it came": census.train}
    row = census.encoded(census.test[:1])[0]
    with install():
        if data == "as installed":
            explanation = census.lime().explain_instance(row, census.scores, labels=(1,), num_samples=1_000)
        else:
            explainer = wrap(explainer, training_data=given[data])
            explanation = explainer.explain_instance(row, census.scores, labels=(1,), num_samples=1_000)
        region = explanation.guarantee_region(**ASKED)
    assert region.status == "certified"
    for name in census.text:
        axis = region.domain.axes[region.names.index(name)]
        assert axis.kind == "categorical"
        assert set(axis.cell_labels) <= set(census.rows[name])
    domain, row = region.problem.domain, region.problem.instance
    cube = Marginal().cube(domain, domain.encode(row[np.newaxis])[0])
    drawn = census.decoded(cube.decode(cube.whole.sample(np.random.default_rng(1), 2_000)))
    for name, value in (("race", "White"), ("sex", "Male"), ("occupation", "Sales")):
        assert (drawn[name] == value).mean() == pytest.approx((census.train[name] == value).mean(), abs=0.05)
    assert faithful_on(region, census, region.sample(500, random_state=2)) >= 0.93


@pytest.mark.parametrize("how", ["function", "pipeline"])
def test_the_census_explained_by_shap(census, how):
    def asked(rows):
        return census.model.predict_proba(pd.DataFrame(rows, columns=list(census.rows)))

    model, options = (asked, {}) if how == "function" else (census.model.predict_proba, {"keep_index": True})
    explainer = shap.KernelExplainer(model, census.train[:25], **options)
    values = theirs(explainer.shap_values, census.test[:1], nsamples=200, silent=True)
    explanation = from_shap_values(values, explainer, census.test[:1], training_data=census.train)
    region = explanation[0, :, 1].guarantee_region(**ASKED)
    assert region.status == "certified"
    for name in census.text:
        assert region.domain.axes[region.names.index(name)].kind == "categorical"
        assert set(region.allowed[name]) <= set(census.rows[name])
    assert region.domain.kinds.count("integer") == 5
    assert faithful_on(region, census, region.sample(500, random_state=2)) >= 0.93
    table = [line for line in str(region).splitlines() if line.startswith((*region.names, "feature"))]
    assert len(table) == len(region.names) + 1
    assert max(map(len, table)) < 190


@pytest.mark.slow
def test_how_far_the_census_reaches(census, capsys):
    """The median reach of certified regions, of 20 rows each; printed."""
    lime = wrap(census.lime(), training_data=census.train)
    explainer = shap.KernelExplainer(census.model.predict_proba, census.train[:25], keep_index=True)
    rows = census.test[:20]
    values = theirs(explainer.shap_values, rows, nsamples=400, silent=True)
    batch = from_shap_values(values, explainer, rows, training_data=census.train)
    found = {"lime": [], "shap": []}
    for i, row in enumerate(census.encoded(rows)):
        found["lime"].append(lime.explain_instance(row, census.scores).guarantee_region(random_state=0))
        found["shap"].append(batch[i, :, 1].guarantee_region(random_state=0))
    for library, regions in found.items():
        reach = [region.reach.mean() for region in regions if region]
        with capsys.disabled():
            print(f"\n{library}: {len(reach)} of 20 certified, median reach {np.median(reach):.3f}")
        assert len(reach) >= 10
        assert np.median(reach) > 0.5
