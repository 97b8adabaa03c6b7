"""LIME as it is, with its own neighbourhood and its own regressor's answers kept for comparison."""

import numpy as np
from lime.lime_base import LimeBase
from sklearn.linear_model import Ridge


class RecordingRidge(Ridge):
    """LIME's default regressor, which keeps what it says about the rows it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight=sample_weight)
        self.answers = self.predict(X)
        return self


class RecordingBase(LimeBase):
    """LIME's inner explainer; keeps the neighbourhood, the model's scores of it and the regressor's."""

    def __init__(self, base):
        super().__init__(base.kernel_fn, base.verbose, base.random_state)
        self.answers = {}

    def explain_instance_with_data(self, data, labels, distances, label, num_features, **options):
        options["model_regressor"] = RecordingRidge(alpha=1, random_state=self.random_state)
        explained = super().explain_instance_with_data(
            data, labels, distances, label, num_features, **options
        )
        self.data, self.scores = data, np.asarray(labels)
        self.answers[int(label)] = options["model_regressor"].answers
        return explained


class Recorder:
    """A model that keeps what it is asked, batch by batch."""

    def __init__(self, predict_fn):
        self.predict_fn = predict_fn
        self.batches = []

    def __call__(self, batch):
        self.batches.append(batch)
        return self.predict_fn(batch)

    @property
    def asked(self):
        return [one for batch in self.batches for one in batch]
