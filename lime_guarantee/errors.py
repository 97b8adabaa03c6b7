"""The errors this package raises, each saying what is wrong and what to do next."""

from __future__ import annotations


class GuaranteeError(Exception):
    """Base of every error that this package raises on purpose."""


class GuaranteeWarning(UserWarning):
    """Something was guessed, or a known fault of an explanation library shows; the region notes it, too."""


class InvalidInputError(GuaranteeError, ValueError):
    """An argument does not meet its requirement; nothing has been asked of the model."""


class ModelError(GuaranteeError, RuntimeError):
    """The model raised, or answered with something that cannot be used."""


class InconsistentModelError(ModelError):
    """The model answered the same question in two ways, so no guarantee can be given."""


class EvaluationLimitError(GuaranteeError):
    """The limit on evaluations would be passed; the search ends and nothing more is asked."""


class WorkersError(GuaranteeError):
    """The processes that an audit was spread over did not do their work."""
