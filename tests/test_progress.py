"""Progress is shown by tqdm, which nothing else needs."""

import sys

import pytest

from lime_guarantee import Domain, find_region
from lime_guarantee.support.progress import counting


def find(**options):
    domain = Domain.from_bounds([0.0], [1.0])
    return find_region(lambda X: X[:, 0] < 0.5, [0.2], domain, purity=0.9, random_state=0, **options)


@pytest.fixture
def without_tqdm(monkeypatch):
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)  # so that importing it fails


def test_a_bar_counts_what_is_done(capsys):
    with counting(True, total=4, unit=" explanations") as advance:
        advance(1)
        advance(2)
    assert "3/4" in capsys.readouterr().err


def test_nothing_is_shown_unasked(capsys, without_tqdm):
    with counting(False, total=4, unit=" explanations") as advance:
        advance(4)
    assert find()
    assert find(progress=False)
    assert capsys.readouterr() == ("", "")


def test_a_bar_without_tqdm_says_what_to_install(without_tqdm):
    with pytest.raises(ModuleNotFoundError, match=r"progress=True needs tqdm.*'lime-guarantee\[progress\]'"):
        find(progress=True)
