"""The line of a network in the table of first calls; see tests/test_first_call_matrix.py."""

import numpy as np
import pytest
import torch
from first_calls import BACKGROUND, EXPLAINERS, X, Y, line_of, outcomes, rows_of, write_table
from shap_cases import shap
from sklearn.preprocessing import StandardScaler

SCALER = StandardScaler().fit(X.to_numpy())


class Network:
    """A small network on scaled features, with the method that scikit-learn's models have."""

    def __init__(self):
        torch.set_num_threads(1)
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        rows, target = self.tensor(X), torch.tensor(Y.to_numpy())
        optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
        for _ in range(150):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(rows), target).backward()
            optimizer.step()
        self.module = torch.nn.Sequential(net, torch.nn.Softmax(dim=1)).eval()

    @staticmethod
    def tensor(rows):
        return torch.tensor(SCALER.transform(np.asarray(rows)), dtype=torch.float32)

    def predict_proba(self, rows):
        with torch.no_grad():
            return self.module(self.tensor(rows)).numpy().astype(float)


def explained_by_deep(model, rows):
    yield from rows_of(shap.DeepExplainer(model.module, model.tensor(BACKGROUND))(model.tensor(rows)))


CELLS = {**EXPLAINERS, "its own": explained_by_deep}


@pytest.fixture(scope="module")
def network():
    return Network()


@pytest.mark.parametrize("explainer", CELLS)
def test_a_first_call_gives_a_region_or_a_reason(network, explainer):
    quick = {"purity": 0.9, "confidence": 0.9, "effort": "low"}
    found, failures = outcomes(network, CELLS[explainer], 1, **quick)
    assert found is not None, failures
    assert found["certified"] + found["uncertified"] + found["unfaithful"] == 1, failures


@pytest.mark.slow
def test_first_calls_of_many_rows(network, capsys):
    lines = {}
    for explainer, explained in CELLS.items():
        found, failures = outcomes(network, explained, 20)
        lines["torch MLP", explainer] = line_of("torch MLP", explainer, found, failures)
        with capsys.disabled():
            print(lines["torch MLP", explainer], *failures[:2], flush=True)
        assert not found["crash"], failures
    write_table(lines)
