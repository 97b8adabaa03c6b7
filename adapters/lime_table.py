"""LIME's explanations of rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.surrogates import LinearSurrogate, Terms
from lime_guarantee.space.discrete_axis import DiscreteAxis
from lime_guarantee.space.domain import Axis, Domain, categorical_axis, ordered_axis
from lime_guarantee.space.observed import Observed
from lime_guarantee.support.arrays import AnyArray, FloatArray

from .base import CAPTURED, CapturedCall, as_floats, unique_names
from .lime_base import Coefficients, LimeAdapter
from .predictors import FrameModel, Outputs, SparseModel, fitted_on_frame
from .ranges import TrainingData, bound_pairs

GUESS = 3.0
"""Without training data, a feature is taken to reach so many standard deviations either way."""

NO_SPREAD = 1e-10
"""LIME adds 1e-11 to the standard deviation in a bin."""

MISSING_EXPLAINER = (
    "explainer: a tabular explanation keeps neither its bins nor its scales. Pass explainer=, the "
    "LimeTabularExplainer that made it; or make explanations with wrap(explainer) or after install()."
)


@dataclass(frozen=True, eq=False)
class LimeFacts:
    """What a tabular explainer knows and its explanations do not, in a form that pickles.

    Parameters
    ----------
    names : list of str
        The features' names.
    mean, scale : arrays of shape (D,)
        Of LIME's scaler.
    edges : dict of int to array
        The inner borders of the bins of every discretised feature.
    bin_names : dict of int to tuple of str
        What LIME calls these bins.
    ranges : dict of int to Axis
        The range of every feature, where it is known.
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
    bin_names: dict[int, tuple[str, ...]]
    ranges: dict[int, Axis]
    codes: dict[int, tuple[float, ...]]
    code_names: dict[int, Any]
    around_instance: bool
    timesteps: tuple[int, int] | None
    degenerate: tuple[str, ...]


def read_explainer(explainer: Any) -> LimeFacts:
    """The facts of an explainer."""
    discretizer = explainer.discretizer
    names = unique_names([str(name) for name in explainer.feature_names])
    edges: dict[int, FloatArray] = {}
    bin_names: dict[int, tuple[str, ...]] = {}
    ranges: dict[int, Axis] = {}
    degenerate = []
    codes_of = explainer.categorical_features
    if discretizer is not None:
        codes_of = [i for i in range(len(names)) if i not in discretizer.to_discretize]
        for i in discretizer.to_discretize:
            edges[i] = _edges(discretizer, i, names[i])
            lows, highs = discretizer.mins[i], discretizer.maxs[i]
            bin_names[i] = tuple(str(name) for name in discretizer.names[i])
            filled = [int(k) for k in explainer.feature_values[i]]  # LIME draws from no other bin
            ranges[i] = _binned_axis(discretizer, i, names[i], filled)
            if any(lows[k] == highs[k] != 0 for k in filled):
                degenerate.append(names[i])
    steps = getattr(explainer, "n_timesteps", None)
    return LimeFacts(
        names=names,
        mean=np.array(explainer.scaler.mean_, dtype=np.float64),
        scale=np.array(explainer.scaler.scale_, dtype=np.float64),
        edges=edges,
        bin_names=bin_names,
        ranges=ranges,
        codes={int(i): tuple(float(v) for v in explainer.feature_values[i]) for i in codes_of},
        code_names=dict(explainer.categorical_names),
        around_instance=bool(explainer.sample_around_instance),
        timesteps=None if steps is None else (int(steps), int(explainer.n_features)),
        degenerate=tuple(degenerate),
    )


def _binned_axis(discretizer: Any, feature: int, name: str, filled: list[int]) -> Axis:
    """The range of a feature's bins; if each bin has a single value, there are no others."""
    lows, highs = discretizer.mins[feature], discretizer.maxs[feature]
    means = getattr(discretizer, "means", {}).get(feature, ())
    spread = getattr(discretizer, "stds", {}).get(feature, ())
    values = set()
    for k in filled if len(means) == len(spread) == len(lows) else ():
        ends = [end for end in (highs[k], lows[k]) if np.isclose(end, means[k], rtol=1e-9, atol=0.0)]
        values.add(float(ends[0]) if ends and spread[k] <= NO_SPREAD else np.nan)
    if len(values) > 1 and np.isfinite(list(values)).all() and any(v != round(v) for v in values):
        return DiscreteAxis(name, tuple(sorted(values)))
    return ordered_axis(name, lows[0], highs[-1], integer=False)


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


class LimeTableAdapter(LimeAdapter):
    """Explanations of `LimeTabularExplainer` and `RecurrentTabularExplainer`."""

    explainer_class: ClassVar[str | type | tuple[str | type, ...]] = (
        "lime.lime_tabular.RecurrentTabularExplainer",
        "lime.lime_tabular.LimeTabularExplainer",
    )
    watched_explainers: ClassVar[tuple[str, ...]] = ("lime.lime_tabular.LimeTabularExplainer",)
    mapper = "TableDomainMapper"
    kind = "lime tabular"

    @classmethod
    def capture(cls, explainer: Any, arguments: Mapping[str, Any], explanation: Any) -> CapturedCall:  # noqa: ARG003
        predict_fn = arguments.get("predict_fn", arguments.get("classifier_fn"))
        row: Any = arguments.get("data_row")
        try:
            facts: LimeFacts | str = read_explainer(explainer)
        except InvalidInputError as error:  # explaining goes on as ever; the region, if asked for, is refused
            facts = str(error)
        return CapturedCall(predict_fn, row.copy() if hasattr(row, "copy") else row, facts)

    @classmethod
    def notice(cls, explainer: Any, first: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        data = arguments.get("training_data") if first is None else first
        return {} if explainer.training_data_stats else {"data": TrainingData.seen(data)}

    @classmethod
    def data_of(cls, training_data: Any, explainer: Any) -> TrainingData:
        steps = getattr(explainer, "n_timesteps", None)
        shape = None if steps is None else (steps, explainer.n_features)
        return TrainingData.of(flattened(training_data, shape))

    @classmethod
    def missing_input(cls, explanation: Any, *, explainer: Any = None, predict_fn: Any = None) -> str:
        captured: CapturedCall | None = getattr(explanation, CAPTURED, None)
        if explainer is None and (captured is None or captured.facts is None):
            return MISSING_EXPLAINER
        return super().missing_input(explanation, predict_fn=predict_fn)

    def read(self) -> None:
        facts = self._facts()
        predict_fn, raw = self.predict_fn, self.given_instance
        if facts.timesteps is not None and np.ndim(raw) == 2 and np.shape(raw) == facts.timesteps:
            predict_fn = Recurrent(predict_fn, *facts.timesteps)
            raw = np.asarray(raw).T.reshape(-1)
        self.read_label(getattr(self.explanation, "class_names", None))
        self.columns_kept: AnyArray | None = None
        if hasattr(raw, "tocsr"):
            self.instance, self.columns_kept = _sparse_row(raw, len(facts.names))
            facts = _only(facts, self.columns_kept)
            predict_fn = SparseModel(predict_fn, self.columns_kept, raw.shape[1])
            self.notes.append(
                f"The instance is sparse: only the {self.columns_kept.size} features that are not 0 vary, as "
                "in LIME."
            )
        else:
            self.instance = self._dense_row(raw, facts)
            self._check_row(facts)
            predict_fn = asked_with_frames(predict_fn, self.instance, self.data)
        self.facts = facts
        self.read_surrogate(self.instance.size, self._made, self.instance)
        if facts.degenerate:
            self.warn(
                "LIME samples the value 0 in a bin that has a single value, so it learnt little about: "
                f"{', '.join(facts.degenerate)}."
            )
        self.domain = self._domain(facts)
        explanation = self.explanation
        if self.classifier:
            self.said = np.asarray(explanation.predict_proba)[list(self.columns or ())]
        else:
            self.said = explanation.predicted_value
            self.scale = float(explanation.max_value - explanation.min_value)
        # A model with one column that was explained answers with that column.
        single = not self.classifier or len(explanation.predict_proba) == 1
        self.use(model=Outputs(predict_fn, None if single else self.columns))

    def _facts(self) -> LimeFacts:
        """What is known of the explainer, with the ranges of the data and the bounds given on top."""
        facts: LimeFacts | str | None = self.captured.facts
        if self.explainer is not None:
            facts = read_explainer(self.explainer)
        if isinstance(facts, str):
            raise InvalidInputError(facts)
        if facts is None:
            raise InvalidInputError(MISSING_EXPLAINER)
        ranges = dict(facts.ranges)
        if self.data is not None:
            if len(self.data.domain) != len(facts.names):
                raise InvalidInputError(
                    f"training_data: the explainer knows {len(facts.names)} features; got "
                    f"{len(self.data.domain)} columns."
                )
            ranges.update((i, a) for i, a in enumerate(self.data.domain.axes) if a.ordered)
        for i, low, high in bound_pairs(self.bounds, facts.names):
            known = ranges.get(i, ordered_axis(facts.names[i], low, high, integer=False))
            ranges[i] = known.with_bounds(low, high)
        return replace(facts, ranges=ranges)

    def _dense_row(self, raw: Any, facts: LimeFacts) -> FloatArray:
        if raw is not None:
            instance = as_floats(raw)
        elif not facts.edges and not facts.codes:  # only then does the explanation hold the row
            instance = np.asarray(self.explanation.domain_mapper.scaled_row) * facts.scale + facts.mean
        else:
            raise InvalidInputError(
                "instance: a LIME explanation keeps only rounded values of its row. Pass instance=, the row "
                "that was explained."
            )
        if instance.size != len(facts.names):
            raise InvalidInputError(
                f"instance: the explainer knows {len(facts.names)} features; got a row of {instance.size}."
            )
        return instance

    def _check_row(self, facts: LimeFacts) -> None:
        """Refuse another row, or an explainer with other bins, than those that LIME's own table shows."""
        mapper = self.explanation.domain_mapper
        shown = mapper.discretized_feature_names
        for i, value in enumerate(self.instance.tolist()):
            if i in facts.codes:
                called = facts.code_names.get(i)
                label = str(int(value)) if called is None else _code_label(value, called)
                if not str(mapper.exp_feature_names[i]).endswith(f"={label}"):
                    raise InvalidInputError(
                        f"instance: {facts.names[i]} is {label}, but the explanation is about a row with "
                        f"{mapper.exp_feature_names[i]}. Pass the row that was explained."
                    )
                continue
            if shown is not None and i in facts.bin_names:
                place = int(np.searchsorted(facts.edges[i], value))
                name = facts.bin_names[i][min(place, len(facts.bin_names[i]) - 1)]
                if name != str(shown[i]):
                    raise InvalidInputError(
                        f"instance, explainer: {facts.names[i]} is {value:.6g}, which the explainer calls "
                        f"{name!r}, but the explanation is about {str(shown[i])!r}. Pass the row and the "
                        "explainer that it was made with."
                    )
            if f"{value:.2f}" != str(mapper.feature_values[i]) and not np.isnan(value):
                raise InvalidInputError(
                    f"instance: {facts.names[i]} is {value:.6g}, but the explanation is about a row with "
                    f"{mapper.feature_values[i]} there. Pass the row that was explained."
                )

    def _made(self, coefficients: Coefficients) -> LinearSurrogate:
        """LIME's own regressor: bins and categories are "the same as the instance's", others are scaled."""
        intercept, features, weights = coefficients
        if self.columns_kept is not None:  # the others are 0 in a sparse row, and add nothing
            kept = np.isin(features, self.columns_kept)
            features, weights = np.searchsorted(self.columns_kept, features[kept]), weights[kept]
        facts, outputs = self.facts, intercept.size
        stepped = np.array([i in facts.edges or i in facts.codes for i in features.tolist()], dtype=np.bool_)
        steps, slopes = features[stepped], features[~stepped]
        held = np.array([_held(facts, i, self.instance[i]) for i in steps.tolist()]).reshape(-1, 2)
        scale, sparse = facts.scale[slopes], self.columns_kept is not None
        return LinearSurrogate(
            intercept,
            Terms(steps, weights[stepped].reshape(-1, outputs), held[:, 0], held[:, 1]),
            Terms(
                slopes,
                weights[~stepped].reshape(-1, outputs),
                np.zeros(len(slopes)) if sparse else facts.mean[slopes],
                1.0 / scale if sparse else scale,
            ),
        )

    def _domain(self, facts: LimeFacts) -> Domain:
        """Range and kind of every feature; what has to be guessed is said."""
        guessed: list[str] = []
        axes = [_axis(facts, i, self.instance, guessed) for i in range(self.instance.size)]
        unseen = [facts.names[i] for i, codes in facts.codes.items() if self.instance[i] not in codes]
        if unseen:
            self.notes.append(
                "The instance's category is not among those of the training data, and was added to them: "
                f"{', '.join(unseen)}."
            )
        if guessed:
            centre = "the instance" if facts.around_instance else "the mean"
            shown = ", ".join(guessed[:5]) + (f" and {len(guessed) - 5} more" if len(guessed) > 5 else "")
            self.warn(
                f"The range of {shown} is guessed: {centre} plus and minus {GUESS:g} standard deviations. "
                "Pass training_data= or bounds= for the true one."
            )
        observed = None if self.data is None else _in_codes(self.data.domain.observed, facts)
        if observed is not None and self.columns_kept is not None:
            observed = observed.only(self.columns_kept.tolist())
        return Domain(tuple(axes), observed)


@dataclass(frozen=True, eq=False)
class Recurrent:
    """A model of sequences, asked with flat rows as `RecurrentTabularExplainer` lays them out."""

    predict_fn: Any
    timesteps: int
    features: int

    def __call__(self, X: AnyArray) -> Any:
        return self.predict_fn(np.transpose(X.reshape(len(X), self.features, self.timesteps), (0, 2, 1)))


def flattened(data: Any, timesteps: tuple[int, int] | None) -> Any:
    """Training data of a recurrent explainer as flat rows; any other data as it is."""
    if timesteps is None or np.ndim(data) != 3:
        return data
    return np.transpose(np.asarray(data), (0, 2, 1)).reshape(len(data), -1)


def _sparse_row(raw: Any, width: int) -> tuple[FloatArray, AnyArray]:
    """The values that are not 0, and their columns."""
    row = raw.tocsr()
    if row.shape != (1, width):
        raise InvalidInputError(f"instance: a sparse row of shape (1, {width}) is required; got {row.shape}.")
    columns = np.sort(row.nonzero()[1])
    if columns.size == 0:
        raise InvalidInputError("instance: all its features are 0, and LIME varies none of those.")
    return row[:, columns].toarray()[0].astype(np.float64), columns


def _in_codes(observed: Observed | None, facts: LimeFacts) -> Observed | None:
    """What is known of data, with codes for the names of categories, where the data came with their names."""
    for i, called in facts.code_names.items() if observed is not None else ():
        code_of = {_code_label(code, called): code for code in facts.codes.get(i, ())}
        values = observed.columns[i].values  # type: ignore[union-attr]
        if values is not None and values.dtype == object and len(code_of) == len(facts.codes.get(i, ())):
            observed = observed.recoded(i, code_of)  # type: ignore[union-attr]
    return observed


def _only(facts: LimeFacts, columns: AnyArray) -> LimeFacts:
    """The facts of some features alone."""
    return replace(
        facts,
        names=[facts.names[i] for i in columns],
        mean=facts.mean[columns],
        scale=facts.scale[columns],
        ranges={new: facts.ranges[old] for new, old in enumerate(columns.tolist()) if old in facts.ranges},
    )


def _held(facts: LimeFacts, feature: int, value: float) -> tuple[float, float]:
    """The interval (above, upto] in which a feature counts as unchanged."""
    if feature in facts.codes:
        return float(np.nextafter(value, -np.inf)), value
    edges = facts.edges[feature]
    place = int(np.searchsorted(edges, value))
    above = edges[place - 1] if place > 0 else -np.inf
    return float(above), float(edges[place] if place < edges.size else np.inf)


def asked_with_frames(predict_fn: Any, instance: FloatArray, data: TrainingData | None) -> Any:
    """Ask an estimator that was fitted on a DataFrame with one."""
    fitted = fitted_on_frame(predict_fn, instance.size)
    if fitted is None:
        return predict_fn
    return FrameModel(predict_fn, fitted if data is None else fitted.like(data.frame))


def _axis(facts: LimeFacts, i: int, instance: FloatArray, guessed: list[str]) -> Axis:
    name, value = facts.names[i], float(instance[i])
    if np.isnan(value):  # a missing value is no number to move: it stays missing
        return categorical_axis(name, (value,))
    if i in facts.codes:
        codes = facts.codes[i] if value in facts.codes[i] else (*facts.codes[i], value)
        called = facts.code_names.get(i)
        labels = () if called is None else [_code_label(code, called) for code in codes]
        return categorical_axis(name, codes, labels)
    known = facts.ranges.get(i)
    if known is None:
        guessed.append(name)
        middle = value if facts.around_instance else facts.mean[i]
        reach = GUESS * facts.scale[i]
        return ordered_axis(name, middle - reach, middle + reach, integer=False)
    if known.kind in ("integer", "binary") and value != round(value):  # it exists on no such axis
        return ordered_axis(name, known.low, known.high, integer=False)
    return replace(known, name=name)


def _code_label(code: float, called: Any) -> str:
    try:
        return str(called[int(code)])
    except (IndexError, KeyError):
        return f"{code:g}"
