"""Runs are compared as a table, as curves, as a picture and as a page that needs no network."""

import importlib.util
import json
import re
from html.parser import HTMLParser

import pytest
from PIL import Image

from srb_train import operations
from srb_train.cli import main, page
from tests.operations import scene

HOSTILE = '</script><img src=x onerror="alert(1)">&"\''


@pytest.fixture
def said(capsys):
    """Run a command in this process; returns its exit code and what it printed."""

    def run(*words: object) -> tuple[int, str]:
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out + err

    return run


class Reader(HTMLParser):
    """Collects tags with their attributes, and the text of every element by its tag."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside, self.texts = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_data(self, data):
        if self.inside:
            self.texts.setdefault(self.inside[-1], []).append(data)


def pair(tmp_path, **more):
    return scene.finished_run(tmp_path), scene.finished_run(tmp_path, seed=8, **more)


def test_the_table_is_followed_by_curves_with_the_numbers_of_the_runs(said, tmp_path):
    one, other = pair(tmp_path)
    code, out = said("run", "compare", one.path, other.path)
    assert code == 0
    assert re.search(r"^ +20\|", out, re.MULTILINE)
    assert "run 1   run 2" in out


def test_a_run_without_the_metric_is_named(said, tmp_path):
    one, other = scene.finished_run(tmp_path), scene.make_run(tmp_path)
    code, out = said("run", "compare", one.path, other.path, "--metric", "episode/return")
    assert (code, f"warning: landing/toy_cem/{other.name} has no episode/return" in out) == (
        0,
        True,
    )
    code, out = said("run", "compare", one.path, other.path, "--json")
    found = json.loads(out)
    assert found["missing"] == [f"landing/toy_cem/{other.name}"]
    assert found["curves"]["episode/return"]["missing"] == found["missing"]
    assert found["files"] == {"png": None, "html": None}


def test_a_metric_that_nobody_has_is_an_error_that_lists_theirs(said, tmp_path):
    one, other = pair(tmp_path)
    code, out = said("run", "compare", one.path, other.path, "--metric", "loss")
    assert (code, "episode/success_rate" in out) == (2, True)


def test_a_page_loads_nothing_and_holds_every_value(said, tmp_path):
    one, other = pair(tmp_path)
    path = tmp_path / "curves.html"
    code, out = said("run", "compare", one.path, other.path, "--html", path)
    assert (code, f"wrote {path}" in out) == (0, True)
    read = Reader(path.read_text("utf-8"))
    for tag, attributes in read.tags:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert not {"src", "href", "srcset", "action"} & set(attributes), (tag, attributes)
    assert "http" not in path.read_text("utf-8").replace("http-equiv", "")
    assert "@import" not in path.read_text("utf-8")
    data = [json.loads(text) for text in read.texts["script"] if text.startswith("{")]
    assert len(data) == len([tag for tag, _ in read.tags if tag == "svg"]) == 2
    names = [f"landing/toy_cem/{run.name}" for run in (one, other)]
    assert [each["name"] for each in data[0]["runs"]] == names
    assert data[0]["runs"][0]["values"][-1] == 12.5
    assert {"run.seed", "7", "8"} <= set(read.texts["td"])


def test_a_page_escapes_what_runs_and_settings_say(tmp_path):
    one, other = pair(tmp_path, agent_params={"note": HOSTILE})
    for run in (one, other):
        scene.measure(run, (4000, 1.0, 0.5))
    names = [str(run.path) for run in (one, other)]
    found = operations.compare_runs(names, tmp_path)
    drawn = operations.curves(names, tmp_path)
    strange = next(iter(drawn["runs"]))
    drawn["metrics"][HOSTILE] = drawn["metrics"].pop("episode/return")
    for each in drawn["metrics"].values():
        each["values"] = {
            (HOSTILE if name == strange else name): values
            for name, values in each["values"].items()
        }
    drawn["runs"] = {
        (HOSTILE if name == strange else name): row for name, row in drawn["runs"].items()
    }
    found["differences"] = {HOSTILE: dict.fromkeys(drawn["runs"], HOSTILE)}
    read = Reader(page.page(drawn, found))
    assert "img" not in [tag for tag, _ in read.tags]
    assert not any("onerror" in name for _, attributes in read.tags for name in attributes)
    assert [text for text in read.texts["h2"] if "onerror" in text]


def test_a_page_of_one_flat_curve_at_step_zero_can_be_drawn(tmp_path):
    one, other = (scene.make_run(tmp_path) for _ in range(2))
    scene.measure(one, (10, 5.0, 0.5))
    scene.measure(other, (10, 5.0, 0.5))
    names = [str(run.path) for run in (one, other)]
    text = page.page(operations.curves(names, tmp_path), operations.compare_runs(names, tmp_path))
    assert "All settings are the same" in text
    assert "NaN" not in text.replace("isNaN", "")


def test_a_file_goes_into_a_folder_that_is_there(said, tmp_path):
    one, other = pair(tmp_path)
    code, out = said("run", "compare", one.path, other.path, "--html", tmp_path / "no" / "x.html")
    assert (code, "no folder" in out) == (2, True)


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="no Matplotlib")
def test_a_picture_has_a_plot_a_metric(said, tmp_path):
    one, other = pair(tmp_path)
    path = tmp_path / "curves.png"
    assert said("run", "compare", one.path, other.path, "--png", path)[0] == 0
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert picture.height > 900
        assert len(picture.convert("RGB").getcolors(10**6)) > 10


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [(("run", "top"), "textual", "top"), (("compare",), "matplotlib", "plot")],
)
def test_a_missing_package_comes_with_the_line_that_installs_it(
    said, tmp_path, monkeypatch, words, package, extra
):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else find(name)
    )
    if words == ("compare",):
        runs = [run.path for run in pair(tmp_path)]
        words = ("run", "compare", *runs, "--png", tmp_path / "x.png")
    code, out = said(*words)
    assert (code, f'pip install "srb-train[{extra}]"' in out) == (2, True)
