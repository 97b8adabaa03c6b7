"""Models that workers and the command line import by name."""

import os
import signal

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

COLUMNS = 6


def data():
    """A few columns of the breast-cancer data."""
    loaded = load_breast_cancer()
    return loaded.data[:, :COLUMNS], loaded.target, list(loaded.feature_names[:COLUMNS])


_fitted = None


def forest():
    """A small forest, the same in every process."""
    global _fitted
    if _fitted is None:
        X, y, _ = data()
        _fitted = RandomForestClassifier(n_estimators=10, max_depth=4, random_state=0).fit(X[:400], y[:400])
    return _fitted


def predict(X):
    """The forest's probabilities, to the last bit, in a tenth of the time that it takes for a few rows."""
    X = np.asarray(X, dtype=np.float32)
    if X.shape[1:] != (COLUMNS,):
        raise ValueError(f"X has {X.shape[-1]} features, but the forest is expecting {COLUMNS}")
    trees = forest().estimators_
    return sum(tree.tree_.predict(X) for tree in trees) / len(trees)


class FailsOn:
    """Raises when it is asked about a certain value."""

    def __init__(self, value):
        self.value = value

    def __call__(self, X):
        if np.any(np.asarray(X)[:, 0] == self.value):
            raise RuntimeError("the database is down")
        return predict(X)


class NanOn(FailsOn):
    """Answers with NaN when it is asked about a certain value."""

    def __call__(self, X):
        hit = np.asarray(X)[:, :1] == self.value
        return np.where(hit, np.nan, predict(X))


class KillsOnce:
    """Kills the process it runs in, the first time that it is asked in a worker."""

    def __init__(self, marker, parent):
        self.marker = str(marker)
        self.parent = parent

    def __call__(self, X):
        if os.getpid() != self.parent:
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return predict(X)


class KillsAlways:
    """Kills every worker that it is asked in."""

    def __init__(self, parent):
        self.parent = parent

    def __call__(self, X):
        if os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return predict(X)


def always_raises(X):
    """A model whose database has gone."""
    raise RuntimeError("no such table")


def one_dimension(X):
    """The probability of one class, where a table is wanted."""
    return predict(X)[:, 1]


def not_a_number(X):
    """Answers that are none."""
    return np.full((len(X), 2), np.nan)


def log_odds(X):
    """Scores that are no probabilities."""
    return 10 * predict(X) - 5


def rounded_beyond_1(X):
    """Probabilities that are summed with more rounding than they can bear."""
    sure = predict(X)[:, 1] > 0.5
    return np.column_stack([~sure * (1.0 + 4e-16) - sure * 4e-16, sure * (1.0 + 4e-16) - ~sure * 4e-16])


def interrupted(X):
    """Ctrl-C, while the model is asked."""
    raise KeyboardInterrupt


def words(X):
    """The names of classes."""
    return np.array(["malignant", "benign"])[predict(X).argmax(axis=1)]


fails_on_row_401 = FailsOn(data()[0][401, 0])
nan_on_row_400 = NanOn(data()[0][400, 0])
