"""A small generated corpus of film reviews, and classifiers of it as users have them."""

from functools import cache

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

WORDS = {
    "bad": ["bad", "awful", "dull", "poor", "boring", "weak"],
    "fair": ["fair", "decent", "usual", "average", "passable", "plain"],
    "good": ["good", "great", "lovely", "superb", "charming", "fine"],
}
OTHERS = ["the", "film", "a", "plot", "was", "and", "actor", "scene", "very", "it", "story", "with"]

TEXT = "The film was good, the plot was great and the actor lovely; a bad scene."


def corpus(classes, count=300):
    """Texts and their classes: neutral words, some of the class, and one of any."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, len(classes), count)
    texts = []
    for k in y:
        words = [*rng.choice(OTHERS, 8), *rng.choice(WORDS[classes[k]], 3)]
        words += [rng.choice(WORDS[classes[rng.integers(len(classes))]])]
        texts.append(" ".join(rng.permutation(words)))
    return texts, y


@cache
def classifier(*classes, **options):
    """A TF-IDF pipeline, fitted; options are those of the vectorizer."""
    model = make_pipeline(TfidfVectorizer(**options), LogisticRegression(C=10))
    return model.fit(*corpus(classes))
