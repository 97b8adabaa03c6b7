"""Networks of torch in ONNX files, as torch itself writes them: audited without torch and without pickles."""

import json
import warnings

import numpy as np
import pandas
import pytest
import torch

from lime_guarantee.cli.load_model import load_model
from lime_guarantee.cli.main import main

X = np.random.default_rng(0).normal(size=(300, 4))
QUICK = ["--purity", "0.9", "--confidence", "0.9", "--effort", "low", "--json"]


def network(*last, width=8):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 2)]
    return torch.nn.Sequential(*layers, *last).eval()


SHARES = network(torch.nn.Softmax(dim=1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("networks")
    pandas.DataFrame(X[:200], columns=list("abcd")).to_csv(path / "train.csv", index=False)
    pandas.DataFrame(X[200:202], columns=list("abcd")).to_csv(path / "rows.csv", index=False)
    rows, any_number = (torch.zeros(3, 4),), ({0: torch.export.Dim("rows")},)
    wide = network(torch.nn.Softmax(dim=1), width=3_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own
        for name, net, how in (
            ("any", SHARES, {"dynamic_shapes": any_number}),
            ("three", SHARES, {}),  # it takes three rows at once, no more and no less
            ("beside", wide, {"dynamic_shapes": any_number}),  # its weights are in a file of their own
            ("scores", network(), {"dynamic_shapes": any_number}),
        ):
            torch.onnx.export(net, rows, path / f"{name}.onnx", dynamo=True, verbose=False, **how)
    return path, wide


def answers(net, rows):
    with torch.no_grad():
        return net(torch.tensor(rows, dtype=torch.float32)).numpy()


def explain(folder, model):
    files = ["--data", str(folder / "train.csv"), "--rows", str(folder / "rows.csv")]
    return main(["explain", "--model", str(folder / f"{model}.onnx"), *files, *QUICK])


@pytest.mark.parametrize("name", ["any", "three", "beside"])
def test_a_network_is_explained_from_its_file(folder, capsys, name):
    path, wide = folder
    net = wide if name == "beside" else SHARES
    assert name != "beside" or (path / "beside.onnx.data").stat().st_size > 10_000
    assert explain(path, name) in (0, 1)
    explained = json.loads(capsys.readouterr().out)["explained"]
    answer = answers(net, X[200:201])[0, explained["label"]]
    assert explained["model_at_instance"] == pytest.approx([answer], abs=1e-5)


@pytest.mark.parametrize("count", [1, 3, 7])
def test_a_file_that_takes_three_rows_at_once_answers_any_number(folder, count):
    model = load_model(str(folder[0] / "three.onnx"))
    np.testing.assert_allclose(model.predict_proba(X[:count]), answers(SHARES, X[:count]), atol=1e-6)


def test_scores_that_are_no_probabilities_are_refused_with_the_way_out(folder, capsys):
    assert explain(folder[0], "scores") == 2
    assert "softmax" in capsys.readouterr().err
