"""Certificates to sign: what they say, on one sheet of paper, in a real browser."""

import dataclasses
import json
import re

import numpy as np
import pytest
from accessibility import LOOKS, overflow, violations
from browser import LOWEST_CONTRAST, photograph
from html_cases import HOSTILE, SCRIPT, SEED, region, report

from lime_guarantee import (
    AuditReport,
    Domain,
    GuaranteeRegion,
    InvalidInputError,
    Problem,
    SameValue,
    find_region,
)
from lime_guarantee.auditing import AuditRecord
from lime_guarantee.problem.fingerprint import Origin, fingerprint, fingerprint_of_answers, known_rows
from lime_guarantee.region.statement import guaranteed, not_guaranteed, settings_text
from lime_guarantee.space.axis import CategoricalAxis
from lime_guarantee.version import __version__

MANY = 300
COLOURED = (".status.bad", ".promise")


def model(X):
    return X[:, 0] + 0.5 * X[:, 1]


def other_model(X):
    return X[:, 0] + 0.4 * X[:, 1]


def small(own=model, seed=0):
    domain = Domain.from_bounds([0, 0], [1, 1], names=["dose", "age"])
    problem = Problem(own, lambda X: X[:, 0], SameValue(0.2), np.array([0.5, 0.1]), domain)
    return find_region(problem, purity=0.9, confidence=0.9, random_state=seed)


@pytest.fixture(scope="module")
def certified():
    return region("tabular")


@pytest.fixture(scope="module")
def wide():
    """Three hundred features with names that cannot be broken, each of them limited."""
    names = [f"a_name_of_a_feature_that_is_long_and_has_no_space_{i}" for i in range(MANY)]
    domain = Domain.from_bounds(np.zeros(MANY), np.ones(MANY), names=names)
    found = find_region(lambda X: X[:, 0] < 0.9, np.full(MANY, 0.5), domain, random_state=0, effort="low")
    limits = {"lower": np.full(MANY, 0.25), "upper": np.full(MANY, 0.75), "reach": np.full(MANY, 0.5)}
    return dataclasses.replace(found, **limits)


LABELS = tuple(f"a name of its own, the {k}th" for k in range(16))


def of_categories(count):
    """So many features of sixteen categories each, the last eight of which are allowed."""
    domain = Domain(tuple(CategoricalAxis(f"feature {i}", LABELS) for i in range(count)))
    instance = np.array([LABELS[-1]] * count, dtype=object)
    found = find_region(lambda X: X[:, 0] != LABELS[0], instance, domain, random_state=0, effort="low")
    half = {"allowed": dict.fromkeys(domain.names, LABELS[8:]), "reach": np.full(count, 0.5)}
    return dataclasses.replace(found, **half)


def facts(page):
    """What a certificate lists, by name."""
    pairs = page.locator("dl > div").all()
    return {pair.locator("dt").inner_text(): pair.locator("dd").inner_text() for pair in pairs}


def sheets(page):
    """On how many sheets of paper it is printed, and how large these are, in points."""
    printed = page.pdf(prefer_css_page_size=True)
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
    return len(re.findall(rb"/Type /Page\b", printed)), {
        tuple(float(side) for side in size) for size in sizes
    }


# --------------------------------------------------------------------------------------- sentences


def test_the_sentence_says_what_is_guaranteed_and_stands_alone(certified):
    said = guaranteed(certified)
    assert said.startswith(f"With confidence {certified.confidence!r}, the explanation gives the same class")
    assert f"on at least {certified.purity!r} of the rows" in said
    assert "within 0.1" in said
    assert "draw each feature independently" in said
    assert "these limits" not in said  # they are below


def test_words_and_functions_have_sentences_of_their_own():
    words = region("text")
    assert f"any combination of the {len(words.removable)} parts that may go" in guaranteed(words)
    own = find_region(lambda X: X[:, 0] < 1, [0.5], Domain.from_bounds([0], [2]), random_state=0)
    assert "is faithful, by the rule that was given, on at least 0.99" in guaranteed(own)


def test_of_what_is_not_certified_nothing_is_guaranteed():
    bad = region("unfaithful")
    assert guaranteed(bad).startswith("Nothing is guaranteed: ")
    assert not_guaranteed(bad) == ["There is no region in which the explanation may be relied on."]


def test_what_is_not_guaranteed_is_said(certified):
    said = " ".join(not_guaranteed(certified))
    assert "Outside the limits, nothing is said." in said
    assert "up to 0.1 of the rows may be wrong" in said
    assert "Real rows combine features their own way" in said
    assert "a retrained model needs its own" in said
    flat = certified.worth is not None and certified.worth.flat_in_score
    assert ("The weights are not tested" in said) == flat


def test_settings_are_written_as_code_that_makes_them(certified):
    from lime_guarantee import Boundary, Settings

    made = eval(settings_text(certified.settings), {"Settings": Settings, "Boundary": Boundary})
    assert made == certified.settings


# ------------------------------------------------------------------------------------ fingerprints


def test_the_same_data_have_the_same_fingerprint_and_others_do_not():
    rows = np.arange(6.0).reshape(3, 2)
    assert fingerprint(rows) == fingerprint(rows.tolist()) == fingerprint(rows.copy())
    changed = rows.copy()
    changed[2, 1] = np.nextafter(5.0, 6.0)
    assert fingerprint(changed) != fingerprint(rows)
    assert fingerprint(np.array([["a", 1.0]], dtype=object)) != fingerprint(
        np.array([["b", 1.0]], dtype=object)
    )


def test_answers_that_differ_by_rounding_have_the_same_fingerprint():
    answers = np.array([0.123456, 7.0])
    assert fingerprint_of_answers(answers) == fingerprint_of_answers(answers + 1e-9)
    assert fingerprint_of_answers(answers) != fingerprint_of_answers(answers + 1e-3)


def test_a_region_knows_its_model_and_its_data(certified):
    origin = certified.origin
    assert origin.model == "audit_models.predict"
    assert len(origin.data) == 16
    assert origin.rows == 400
    assert GuaranteeRegion.from_json(certified.to_json()).origin == origin
    assert region("categories").origin.data != origin.data


def test_a_model_is_known_by_its_parameters():
    from sklearn.tree import DecisionTreeClassifier

    one, other = (Origin.of(DecisionTreeClassifier(max_depth=d).predict_proba) for d in (2, 3))
    assert one.model == other.model == "sklearn.tree._classes.DecisionTreeClassifier.predict_proba"
    assert one.parameters != other.parameters


def test_fixed_rows_are_rows_of_the_domain():
    domain = Domain.from_bounds([0, 1, 0], [2, 5, 1], names=list("abc"), integer=["b", "c"])
    rows = known_rows(domain)
    assert len(rows) == 16
    assert domain.contains(domain.encode(rows)).all()


# ------------------------------------------------------------------------------------------ sheets


def test_a_region_is_certified_on_a_sheet(pages, certified, tmp_path):
    text = certified.to_certificate(tmp_path / "row-17.html", row=17)
    assert (tmp_path / "row-17.html").read_text(encoding="utf-8") == text
    page = pages.open(text)
    told = facts(page)
    assert told["Row"] == "17"
    assert told["Model"] == "audit_models.predict"
    assert certified.origin.data in told["Training data"]
    assert told["Seed"] == "0"
    assert re.fullmatch(
        rf"\d{{4}}-\d\d-\d\d \d\d:\d\d UTC, lime-guarantee {re.escape(__version__)}", told["Issued"]
    )
    assert "purity 0.9, confidence 0.9" in told["Settings"]
    assert told["Fresh draws"].startswith(f"{certified.certificate.draws:,}, of which")
    assert told["Purity, lower bound"].startswith(
        f"{int(certified.certificate.purity_lower_bound * 1e5) / 1e5:.5f}"
    )
    assert page.locator(".promise p").inner_text() == guaranteed(certified)
    assert page.locator("main li").all_inner_texts() == not_guaranteed(certified)
    limited = [name for name, reach in zip(certified.names, certified.reach, strict=True) if reach < 1]
    assert sorted(page.locator(".limits tbody th").all_inner_texts()) == sorted(limited)
    assert page.locator(".signatures .line").count() == 3
    assert json.loads(page.locator("#content").inner_text()) == json.loads(certified.to_json())
    photograph(page, "certificate")


def test_models_are_told_apart_by_their_answers():
    def told(own, **given):
        return re.search(r"answers to 16 fixed rows (\w+)", small(own).to_certificate(**given))[1]

    assert told(model) == told(model)
    assert told(model) != told(other_model)


def test_a_region_that_was_read_again_needs_its_problem_for_the_models_answers():
    found = small()
    read = GuaranteeRegion.from_json(found.to_json())
    assert "fixed rows" not in read.to_certificate()
    assert "answers to 16 fixed rows" in read.to_certificate(problem=found.problem)


def test_without_a_seed_nobody_promises_the_same_region():
    assert "No seed was given" in small(seed=None).to_certificate()
    assert "No seed was given" not in small(seed=0).to_certificate()


@pytest.mark.parametrize("kind", ["tabular", "text", "unfaithful", "wide", "categories"])
def test_it_is_one_page_of_a4(pages, kind, wide):
    others = {"wide": wide, "categories": of_categories(20)}
    page = pages.open((others.get(kind) or region(kind)).to_certificate(row=f"row of {kind}"))
    count, sizes = sheets(page)
    assert count == 1
    assert {(round(across / 72 * 25.4), round(down / 72 * 25.4)) for across, down in sizes} == {(210, 297)}
    page.emulate_media(media="print")
    assert not page.get_by_role("button", name="Print").is_visible()
    assert page.locator(".signatures").is_visible()


def test_of_many_limits_some_are_printed_and_the_others_counted(pages, wide):
    page = pages.open(wide.to_certificate())
    assert page.locator(".limits tbody tr").count() == 18
    assert f"{MANY - 18} more features have limits, which are in this file." in page.inner_text("main")


@pytest.mark.parametrize("count", [2, 8])
def test_values_are_named_whole_or_counted(pages, count):
    """A name that is cut in the middle of a list would pass for another value."""
    page = pages.open(of_categories(count).to_certificate())
    for limits in page.locator(".limits tbody td:last-child").all_inner_texts():
        named, _, more = limits.strip("{}").partition(" and ")
        values = re.findall("a name of its own, the [0-9]+th", named)
        assert ", ".join(values) == named
        assert values[0] == LABELS[-1]  # the row's own
        assert set(values) <= set(LABELS[8:])
        left = 8 - len(values)
        assert more == (f"{left} more of 16" if left else "")
        assert bool(left) == (count == 8) == ("only counted here are in this file" in page.inner_text("main"))


def test_an_unfaithful_region_says_so(pages):
    page = pages.open(region("unfaithful").to_certificate())
    assert page.locator(".status.bad").inner_text() == "Not certified: unfaithful"
    colours = [page.locator(one).evaluate("one => getComputedStyle(one).borderLeftColor") for one in COLOURED]
    assert colours[0] == colours[1]
    assert page.locator(".limits").count() == 0


# ------------------------------------------------------------------------------------------ audits


def test_an_audit_is_certified_on_a_sheet(pages, tmp_path):
    audited = report()
    audited.to_certificate(tmp_path / "audit.html")
    page = pages.open((tmp_path / "audit.html").read_text(encoding="utf-8"))
    told, counts = facts(page), audited.counts
    assert (
        page.locator(".status").inner_text() == f"{counts['trusted'] + counts['flat']} of 12 trusted or flat"
    )
    assert told["Training data"] == f"fingerprint {audited.about['training_data']}"
    assert audited.about["rows"] in told["Rows audited"]
    rows = page.locator(".verdicts tbody tr").all()
    shown = [[row.locator("th").inner_text(), *row.locator("td").all_inner_texts()] for row in rows]
    assert shown == [[verdict, str(counts[verdict]), audited.definitions[verdict]] for verdict in counts]
    certified = sum(bool(record.region) for record in audited)
    assert told["Certified regions"] == f"{certified} of 12"
    assert "The confidence is that of each explanation alone" in page.inner_text("main")
    assert sheets(page)[0] == 1


def test_an_audited_explanation_is_certified_on_a_sheet(pages):
    audited = report()
    record = next(record for record in audited if record.verdict == "trusted")
    page = pages.open(audited.to_certificate(index=record.index))
    told = facts(page)
    assert told["Row"] == f"#{record.index}"
    assert told["Trusted"] == record.reason
    assert told["Meaning"] == audited.definitions["trusted"]
    assert told["Honesty"].startswith(f"{record.honesty:.2f} (")
    assert page.locator(".promise p").inner_text() == guaranteed(record.region)
    assert page.locator("pre").inner_text().endswith(f"random_state={SEED})[{record.index}]")
    assert json.loads(page.locator("#content").inner_text()) == json.loads(json.dumps(record.to_dict()))
    assert sheets(page)[0] == 1


def test_an_error_is_certified_as_one_and_a_number_that_is_not_there_is_refused():
    audited = AuditReport((AuditRecord(3, "error", "The disk was full.", row_id="A-3"),), {})
    told = audited.to_certificate(index=3)
    assert "Nothing is guaranteed: the row ended in an error." in told
    assert "#3 (A-3)" in told
    with pytest.raises(InvalidInputError, match="no explanation 4"):
        audited.to_certificate(index=4)


def test_names_are_text_and_nothing_else(pages, certified):
    page = pages.open(certified.to_certificate(row=SCRIPT))
    assert facts(page)["Row"] == SCRIPT
    assert page.locator("body script:not([type])").count() == 1
    assert page.locator("img").count() == 0
    told = page.locator("body").inner_text()
    assert all(name.replace("\u2028", "") in told.replace("\u2028", "") for name in HOSTILE)


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_everybody_can_use_it(pages, certified, wide, scheme, width):
    for text in (certified.to_certificate(row=1), wide.to_certificate(), report().to_certificate()):
        page = pages.open(text, scheme=scheme, width=width)
        assert violations(page) == []
        assert overflow(page) <= 0
        worst = page.evaluate(LOWEST_CONTRAST)
        assert worst["ratio"] >= 4.5, worst
