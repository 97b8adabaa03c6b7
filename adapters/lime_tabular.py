"""LIME's explanations of rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.surrogates import LinearSurrogate, Terms
from lime_guarantee.space.domain import LARGEST_CELL, Axis, Domain, categorical_axis, ordered_axis
from lime_guarantee.space.tables import is_frame
from lime_guarantee.support.arrays import AnyArray, FloatArray

from . import lime_shared
from .predictors import FrameModel, Outputs, SparseModel, fitted_on_frame
from .ranges import Span, flattened, given_spans, span_of
from .request import Call, Context, Request, Subject, as_floats, unique_names
from .subject import Sides

GUESS = 3.0
"""Without training data, a feature is taken to reach so many standard deviations either way."""


@dataclass(frozen=True, eq=False)
class Facts:
    """What a tabular explainer knows and its explanations do not, in a form that pickles.

    Parameters
    ----------
    names : list of str
        The features' names.
    mean, scale : arrays of shape (D,)
        Of LIME's scaler.
    edges : dict of int to array
        The inner borders of the bins of every discretised feature.
    spans : dict of int to Span
        The range of the training data, feature by feature, where it is known.
    codes : dict of int to tuple
        The values of every categorical feature.
    code_names : dict of int to sequence
        What those are called, by code.
    around_instance : bool
        Whether LIME sampled around the instance.
    timesteps : tuple of int, or None
        Steps and features of a recurrent explainer.
    degenerate : tuple of str
        Features with a bin that LIME samples at 0 instead of at its only value.
    """

    names: list[str]
    mean: FloatArray
    scale: FloatArray
    edges: dict[int, FloatArray]
    spans: dict[int, Span]
    codes: dict[int, tuple[float, ...]]
    code_names: dict[int, Any]
    around_instance: bool
    timesteps: tuple[int, int] | None
    degenerate: tuple[str, ...]


def read_explainer(explainer: Any, spans: Mapping[int, Span] | None = None) -> Facts:
    """The facts of an explainer; `spans` of its training data are added where they were seen."""
    discretizer = explainer.discretizer
    names = unique_names([str(name) for name in explainer.feature_names])
    edges: dict[int, FloatArray] = {}
    known: dict[int, Span] = {}
    degenerate = []
    codes_of = explainer.categorical_features
    if discretizer is not None:
        codes_of = [i for i in range(len(names)) if i not in discretizer.to_discretize]
        for i in discretizer.to_discretize:
            edges[i] = _edges(discretizer, i, names[i])
            lows, highs = discretizer.mins[i], discretizer.maxs[i]
            known[i] = Span(float(lows[0]), float(highs[-1]))
            filled = [int(k) for k in explainer.feature_values[i]]  # LIME draws from no other bin
            if any(lows[k] == highs[k] != 0 for k in filled):
                degenerate.append(names[i])
    steps = getattr(explainer, "n_timesteps", None)
    return Facts(
        names=names,
        mean=np.array(explainer.scaler.mean_, dtype=np.float64),
        scale=np.array(explainer.scaler.scale_, dtype=np.float64),
        edges=edges,
        spans={**known, **(spans or {})},
        codes={int(i): tuple(float(v) for v in explainer.feature_values[i]) for i in codes_of},
        code_names=dict(explainer.categorical_names),
        around_instance=bool(explainer.sample_around_instance),
        timesteps=None if steps is None else (int(steps), int(explainer.n_features)),
        degenerate=tuple(degenerate),
    )


def _edges(discretizer: Any, feature: int, name: str) -> FloatArray:
    """The inner borders of a feature's bins, exactly: the names that LIME shows are rounded."""
    function = discretizer.lambdas.get(feature)
    if function is None:
        raise InvalidInputError(
            f"explainer: it was made from training_data_stats without bins for {name!r}, so LIME takes any "
            "change of that feature for a change of bin. Give the stats a 'bins' entry for every feature."
        )
    defaults = getattr(function, "__defaults__", None)
    if not defaults:
        raise InvalidInputError(
            f"explainer: the bins of {name!r} cannot be read from its discretizer. Derive it from LIME's "
            "BaseDiscretizer and override `bins` alone."
        )
    return np.asarray(defaults[0], dtype=np.float64)


def capture(call: Call) -> Context:
    """What to remember when an explainer is asked to explain."""
    predict_fn = call.arguments.get("predict_fn", call.arguments.get("classifier_fn"))
    row: Any = call.arguments.get("data_row")
    try:
        facts: Facts | str = read_explainer(call.explainer, call.noted)
    except InvalidInputError as error:  # explaining goes on as ever; the region, if asked for, is refused
        facts = str(error)
    return Context(predict_fn, row.copy() if hasattr(row, "copy") else row, facts)


def note_source(explainer: Any, training_data: Any) -> dict[int, Span] | None:
    """What to remember of the data that an explainer was made from."""
    return None if explainer.training_data_stats else span_of(training_data)


def note_data(training_data: Any, explainer: Any) -> dict[int, Span]:
    """What to remember of training data given to `wrap`."""
    steps = getattr(explainer, "n_timesteps", None)
    return span_of(flattened(training_data, None if steps is None else (steps, explainer.n_features)))


def adapt(explanation: Any, request: Request) -> Subject:
    """Adapt an explanation of a row."""
    facts = _facts(request)
    predict_fn, raw = request.model(), request.instance
    if facts.timesteps is not None and np.ndim(raw) == 2 and np.shape(raw) == facts.timesteps:
        predict_fn = Recurrent(predict_fn, *facts.timesteps)
        raw = np.asarray(raw).T.reshape(-1)
    class_names = getattr(explanation, "class_names", None)
    reading = lime_shared.read(explanation, request.label, request.test, class_names)
    last = lime_shared.read_last(explanation)
    regression, sparse = reading.label is None, hasattr(raw, "tocsr")
    if sparse:
        instance, columns = _sparse_row(raw, len(facts.names))
        facts = _only(facts, columns)
        reading, last = _kept_features(reading, columns), _kept_features(last, columns)
        predict_fn = SparseModel(predict_fn, columns, raw.shape[1])
        request.notes.append(
            f"The instance is sparse: only the {columns.size} features that are not 0 vary, as in LIME."
        )
    else:
        instance = _dense_row(explanation, raw, facts)
        predict_fn = _with_frames(predict_fn, instance, request.training_data)
    surrogate, of_last = (_surrogate(part, instance, facts, multiplied=sparse) for part in (reading, last))
    lime_shared.check_reading(explanation, reading, surrogate, instance)
    lime_shared.check_reading(explanation, last, of_last, instance)
    if facts.degenerate:
        request.warn(
            "LIME samples the value 0 in a bin that has a single value, so it learnt little about: "
            f"{', '.join(facts.degenerate)}."
        )
    names = None if regression else class_names
    single = regression or len(explanation.predict_proba) == 1  # a model with one column was explained
    return Sides(
        kind="lime tabular",
        space="features",
        label=reading.label,
        label_name=None if names is None or reading.label is None else str(names[reading.label]),
        weights=reading.weight_of_features(instance.size),
        model=Outputs(predict_fn, None if single else reading.columns),
        surrogate=surrogate,
        instance=instance,
        domain=_domain(facts, instance, request),
        classifier=not regression,
        scale=float(explanation.max_value - explanation.min_value) if regression else 1.0,
        seen=explanation.predicted_value
        if regression
        else np.asarray(explanation.predict_proba)[list(reading.columns or ())],
    ).subject(request)


@dataclass(frozen=True, eq=False)
class Recurrent:
    """A model of sequences, asked with flat rows as `RecurrentTabularExplainer` lays them out."""

    predict_fn: Any
    timesteps: int
    features: int

    def __call__(self, X: AnyArray) -> Any:
        return self.predict_fn(np.transpose(X.reshape(len(X), self.features, self.timesteps), (0, 2, 1)))


def _facts(request: Request) -> Facts:
    if request.explainer is not None:
        facts = read_explainer(request.explainer, getattr(request.explainer, "_seen", None))
    elif isinstance(request.facts, str):
        raise InvalidInputError(request.facts)
    elif request.facts is not None:
        facts = request.facts
    else:
        raise InvalidInputError(
            "explainer: a tabular explanation keeps neither its bins nor its scales. Pass explainer=, the "
            "LimeTabularExplainer that made it; or make explanations with wrap(explainer) or after install()."
        )
    seen = given_spans(request.training_data, request.bounds, facts.names, facts.timesteps)
    return replace(facts, spans={**facts.spans, **seen})


def _dense_row(explanation: Any, raw: Any, facts: Facts) -> FloatArray:
    if raw is not None:
        instance = as_floats(raw)
    elif not facts.edges and not facts.codes:  # only then does the explanation hold the row
        instance = np.asarray(explanation.domain_mapper.scaled_row) * facts.scale + facts.mean
    else:
        raise InvalidInputError(
            "instance: a LIME explanation keeps only rounded values of its row. Pass instance=, the row that "
            "was explained."
        )
    if instance.size != len(facts.names):
        raise InvalidInputError(
            f"instance: the explainer knows {len(facts.names)} features; got a row of {instance.size}."
        )
    return instance


def _sparse_row(raw: Any, width: int) -> tuple[FloatArray, AnyArray]:
    """The values that are not 0, and their columns."""
    row = raw.tocsr()
    if row.shape != (1, width):
        raise InvalidInputError(f"instance: a sparse row of shape (1, {width}) is required; got {row.shape}.")
    columns = np.sort(row.nonzero()[1])
    if columns.size == 0:
        raise InvalidInputError("instance: all its features are 0, and LIME varies none of those.")
    return row[:, columns].toarray()[0].astype(np.float64), columns


def _only(facts: Facts, columns: AnyArray) -> Facts:
    """The facts of some features alone."""
    return replace(
        facts,
        names=[facts.names[i] for i in columns],
        mean=facts.mean[columns],
        scale=facts.scale[columns],
        spans={new: facts.spans[old] for new, old in enumerate(columns.tolist()) if old in facts.spans},
    )


def _kept_features(reading: lime_shared.Reading, columns: AnyArray) -> lime_shared.Reading:
    """A reading of some features alone; the others are 0 in a sparse row, and add nothing."""
    kept = np.isin(reading.features, columns)
    features = np.searchsorted(columns, reading.features[kept])
    return replace(reading, features=features, weights=reading.weights[kept])


def _surrogate(
    reading: lime_shared.Reading, instance: FloatArray, facts: Facts, *, multiplied: bool
) -> LinearSurrogate:
    """LIME's own regressor: bins and categories count as "the same as the instance's", others are scaled."""
    outputs = reading.intercept.size
    steps = [i for i in reading.features.tolist() if i in facts.edges or i in facts.codes]
    slopes = [i for i in reading.features.tolist() if i not in steps]
    row_of = {int(feature): row for row, feature in enumerate(reading.features)}
    held = np.array([_held(facts, i, instance[i]) for i in steps]).reshape(-1, 2)
    scale = facts.scale[slopes]
    return LinearSurrogate(
        reading.intercept,
        Terms(
            steps, reading.weights[[row_of[i] for i in steps]].reshape(-1, outputs), held[:, 0], held[:, 1]
        ),
        Terms(
            slopes,
            reading.weights[[row_of[i] for i in slopes]].reshape(-1, outputs),
            np.zeros(len(slopes)) if multiplied else facts.mean[slopes],
            1.0 / scale if multiplied else scale,
        ),
    )


def _held(facts: Facts, feature: int, value: float) -> tuple[float, float]:
    """The interval (above, upto] in which a feature counts as unchanged."""
    if feature in facts.codes:
        return float(np.nextafter(value, -np.inf)), value
    edges = facts.edges[feature]
    place = int(np.searchsorted(edges, value))
    above = edges[place - 1] if place > 0 else -np.inf
    return float(above), float(edges[place] if place < edges.size else np.inf)


def _with_frames(predict_fn: Any, instance: FloatArray, training_data: Any) -> Any:
    """Ask an estimator that was fitted on a DataFrame with one."""
    columns = fitted_on_frame(predict_fn, instance.size)
    if columns is None:
        return predict_fn
    kinds = training_data.dtypes if is_frame(training_data) else ()
    whole = [
        columns[i]
        for i, kind in enumerate(kinds)
        if getattr(kind, "kind", "O") in "iu" and instance[i] == np.round(instance[i])
    ]
    return FrameModel(predict_fn, columns, dict.fromkeys(whole, np.int64))


def _domain(facts: Facts, instance: FloatArray, request: Request) -> Domain:
    """Range and kind of every feature; what has to be guessed is said."""
    guessed: list[str] = []
    axes = [_axis(facts, i, instance, guessed) for i in range(instance.size)]
    unseen = [facts.names[i] for i, codes in facts.codes.items() if instance[i] not in codes]
    if unseen:
        request.notes.append(
            "The instance's category is not among those of the training data, and was added to them: "
            f"{', '.join(unseen)}."
        )
    if guessed:
        centre = "the instance" if facts.around_instance else "the mean"
        shown = ", ".join(guessed[:5]) + (f" and {len(guessed) - 5} more" if len(guessed) > 5 else "")
        request.warn(
            f"The range of {shown} is guessed: {centre} plus and minus {GUESS:g} standard deviations. Pass "
            "training_data= or bounds= for the true one."
        )
    return Domain(tuple(axes))


def _axis(facts: Facts, i: int, instance: FloatArray, guessed: list[str]) -> Axis:
    name, value = facts.names[i], float(instance[i])
    if np.isnan(value):  # a missing value is no number to move: it stays missing
        return categorical_axis(name, (value,))
    if i in facts.codes:
        codes = facts.codes[i] if value in facts.codes[i] else (*facts.codes[i], value)
        called = facts.code_names.get(i)
        labels = () if called is None else [_code_label(code, called) for code in codes]
        return categorical_axis(name, codes, labels)
    span = facts.spans.get(i)
    if span is None:
        guessed.append(name)
        middle = value if facts.around_instance else facts.mean[i]
        reach = GUESS * facts.scale[i]
        return ordered_axis(name, middle - reach, middle + reach, integer=False)
    whole = span.whole and value == round(value) and max(-span.low, span.high) <= LARGEST_CELL
    return ordered_axis(name, span.low, span.high, integer=whole)


def _code_label(code: float, called: Any) -> str:
    try:
        return str(called[int(code)])
    except (IndexError, KeyError):
        return f"{code:g}"
