"""What a limit on evaluations must allow: at least one certificate."""

from __future__ import annotations

from lime_guarantee.engine.certify.bounds import attempt_level, draws_without_failure
from lime_guarantee.engine.certify.certificate import CertifierName
from lime_guarantee.engine.certify.decisions import draws_to_accept
from lime_guarantee.engine.oracle import REASKED_ROWS
from lime_guarantee.errors import InvalidInputError


def fewest_evaluations(purity: float, confidence: float, certifier: CertifierName = "anytime") -> int:
    """The fewest evaluations with which any region can be certified.

    They are the instance, the draws of a first attempt in which nothing fails, and the rows asked again.

    Examples
    --------
    >>> fewest_evaluations(0.99, 0.99)
    712
    >>> fewest_evaluations(0.99, 0.99, "zero-failure")
    542
    """
    level = attempt_level(1, confidence)
    if certifier == "zero-failure":
        draws = draws_without_failure(purity, level)
    else:
        draws = draws_to_accept(0, 0, purity, level)
    return 1 + draws + min(draws, REASKED_ROWS)


def check_limit_allows_certificate(
    max_evaluations: int | None,
    purity: float,
    confidence: float,
    certifier: CertifierName,
    *,
    spent: int = 0,
    rows_each: int = 1,
) -> None:
    """Refuse a limit below the fewest evaluations: whatever is asked then, nothing could be certified.

    Parameters
    ----------
    max_evaluations : int or None
        The limit on rows of the model.
    purity, confidence, certifier
        What is asked for.
    spent : int
        Rows of the model that were asked already.
    rows_each : int
        Rows of the model that every point takes.

    Raises
    ------
    InvalidInputError
        If the limit is too low.
    """
    fewest = spent + rows_each * fewest_evaluations(purity, confidence, certifier)
    if max_evaluations is not None and max_evaluations < fewest:
        raise InvalidInputError(
            f"max_evaluations: at least {fewest} are needed to certify purity={purity} with "
            f"confidence={confidence}, even if nothing fails; got {max_evaluations}. "
            "Allow more evaluations, or ask for a lower purity."
        )
