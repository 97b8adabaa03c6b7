"""What the page about pipelines shows is what works: its code runs, from the top to the bottom."""

import contextlib
import io
import re
import shlex
from xml.etree import ElementTree

import pytest

from lime_guarantee.cli.main import main


@pytest.mark.compiled
def test_the_page_about_pipelines_runs(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    text = (root / "docs" / "pipelines.md").read_text(encoding="utf-8")
    known, printed, codes = {}, io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        for language, code in re.findall(r"```(python|sh)\n(.*?)```", text, re.DOTALL):
            if language == "python":
                exec(compile(code, "pipelines.md", "exec"), known)
            else:
                codes.append(main([*shlex.split(code)[1:], "--no-progress", "--effort", "low"]))
    assert codes in ([0], [1])
    assert len(ElementTree.parse("audit.xml").getroot()[0]) == 4
    for name in ("audit.json", "audit.csv", "audit.html", "checkpoint.jsonl"):
        assert (tmp_path / "audit" / name).stat().st_size > 0
    said = printed.getvalue()
    assert "::notice title=Audit of explanations::4 explanations: " in said
    assert re.search(r"\d of 4 explanations got worse, \d got better\.", said)
    assert known["report"].unfinished == 0
    assert len(list(tmp_path.glob("runs/**/audit.html"))) == 1
    assert (tmp_path / "audit.parquet").exists()
    assert (tmp_path / "changes.csv").exists()


def test_every_option_of_the_page_exists(root, capsys):
    text = (root / "docs" / "pipelines.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["audit", "--help"])
    known = capsys.readouterr().out
    named = set(re.findall(r"--[a-z][a-z-]+", text))
    assert len(named) > 10
    assert {option for option in named if option not in known} == set()
