"""An audit as a test: `assert_trusted`, for pytest and the like."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from lime_guarantee.auditing.record import FLAGGED
from lime_guarantee.auditing.report import AuditReport, check_verdicts
from lime_guarantee.auditing.run import audit
from lime_guarantee.errors import InvalidInputError


def assert_trusted(
    explainer: Any, X: Any, *, fail_on: Collection[str] = (), allow: float = 0.0, **options: Any
) -> AuditReport:
    """Fail, with the report as the message, unless the explanations of these rows can be trusted.

    Parameters
    ----------
    explainer : object
        An explainer that has an adapter.
    X : array or DataFrame
        The rows to explain.
    fail_on : collection of str
        The verdicts that count as failures; by default all that are flagged.
    allow : float
        The share of the explanations that may fail.
    **options
        As for `audit`: ``predict_fn=``, ``training_data=`` and so on.

    Returns
    -------
    AuditReport

    Raises
    ------
    AssertionError
        If more fail; the message is the report.

    Examples
    --------
    >>> import numpy as np
    >>> from lime.lime_tabular import LimeTabularExplainer
    >>> X_train = np.random.default_rng(0).normal(size=(300, 2))
    >>> def model(rows):
    ...     return 2 * rows[:, 0] + rows[:, 1]
    >>> def test_explanations_can_be_trusted():
    ...     lime = LimeTabularExplainer(X_train, mode="regression", discretize_continuous=False)
    ...     assert_trusted(lime, X_train[:2], predict_fn=model, training_data=X_train, agreement="change")
    >>> test_explanations_can_be_trusted()
    """
    __tracebackhide__ = True
    if not 0.0 <= allow <= 1.0:
        raise InvalidInputError(f"allow: a number from 0 to 1 is required; got {allow!r}.")
    check_verdicts("fail_on", fail_on)
    report = audit(explainer=explainer, X=X, **options)
    failed = sum(report.counts[verdict] for verdict in fail_on or FLAGGED)
    if failed > allow * len(report):
        allowed = f" (at most {allow:.0%} may)" if allow else ""
        raise AssertionError(
            f"{failed} of {len(report)} explanations cannot be trusted{allowed}.\n\n{report.summary()}"
        )
    return report
