"""Nothing outside of the roots is read or written, whatever a client sends."""

import os
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srb_train import operations
from srb_train.errors import SrbError, UsageError
from srb_train.operations.reach import Reach
from tests.mcp.asking import TOY, answer, ask, refusal, refused
from tests.mcp.test_schema import SEED
from tests.operations import scene

SECRET = "what nobody may read"
HOSTILE = [
    "../outside", "../../etc/passwd", "/etc/passwd", "a/../../outside", "..", ".", "", "a\0b",
    "a\nb", "~/x", "x" * 513, "x/" * 200, "..\\outside", "%2e%2e/outside", "$(touch x)",
]  # fmt: skip


@pytest.fixture
def outside(tmp_path):
    """A run and a file beside the roots."""
    folder = tmp_path / "outside"
    run = scene.finished_run(folder)
    run.log_path.write_text(SECRET)
    (folder / "secret.yaml").write_text(f"key: {SECRET}\n")
    return folder


def test_hostile_names_are_refused_by_every_tool_that_takes_one(reach, outside):
    outer = [str(path) for path in (outside, *outside.glob("*/*/*"), outside / "secret.yaml")]
    asked = {
        "get_run_status": "run_id",
        "get_training_logs": "run_id",
        "stop_training": "run_id",
        "resume_training": "run_id",
        "check_completion": "run_id",
        "get_config": "config_path",
    }

    async def script(client):
        said = []
        for tool, argument in asked.items():
            for name in (*HOSTILE, *outer):
                said.append(await refused(client, tool, **{argument: name}))
        for name in (*HOSTILE, *outer):
            more = {"config_path": name, "updates": {"key": 1}}
            said.append(await refused(client, "update_config", **more))
            more = {**TOY, "run_id": name}
            said.append(await refused(client, "force_training", **more))
        return said

    for said in ask(reach, script):
        assert SECRET not in said
        assert "Traceback" not in said
    assert (outside / "secret.yaml").read_text() == f"key: {SECRET}\n"
    assert not list(reach.logs.glob("*/*/*"))


def test_links_that_lead_out_are_refused(reach, outside):
    (run,) = outside.glob("*/*/*")
    (reach.logs / "landing").mkdir()
    (reach.logs / "landing" / "toy_cem").symlink_to(run.parent)
    assert SECRET not in refusal(reach, "get_training_logs", run_id=f"landing/toy_cem/{run.name}")
    own = scene.finished_run(reach.logs, env="cartpole")
    own.log_path.symlink_to(run / "train.log")
    assert "link" in refusal(reach, "get_training_logs", run_id=own.name)
    (reach.configs[0] / "a.yaml").symlink_to(outside / "secret.yaml")
    assert "link" in refusal(reach, "get_config", config_path="a.yaml")
    said = refusal(reach, "update_config", config_path="a.yaml", updates={"key": 1})
    assert "link" in said
    assert SECRET in (outside / "secret.yaml").read_text()


def test_only_yaml_files_of_a_sane_size_are_configuration(reach):
    root = reach.configs[0]
    (root / "notes.txt").write_text("key: 1")
    (root / "huge.yaml").write_text("key: 1\n" * 100_000)
    assert ".yaml or .yml" in refusal(reach, "get_config", config_path="notes.txt")
    assert "larger than" in refusal(reach, "get_config", config_path="huge.yaml")
    assert "no such file; there are: huge.yaml" in refusal(
        reach, "get_config", config_path="missing.yaml"
    )


def test_without_a_config_root_no_file_is_within_reach(reach, tmp_path):
    closed = Reach.of(reach.logs)
    assert "--config-root" in refusal(closed, "get_config", config_path=str(tmp_path / "a.yaml"))


def test_a_file_is_changed_key_by_key_and_keeps_its_comments(reach):
    path = reach.configs[0] / "walk.yaml"
    path.write_text("agent:\n  gamma: 0.99 # far-sighted\n  horizon: 25\n")
    found = answer(
        reach, "update_config", config_path="walk.yaml", updates={"agent": {"gamma": 0.98}}
    )
    assert found["updated_config"] == {"agent": {"gamma": 0.98, "horizon": 25}}
    assert path.read_text() == "agent:\n  gamma: 0.98 # far-sighted\n  horizon: 25\n"
    read = answer(reach, "get_config", config_path=str(path))
    assert read["config"] == found["updated_config"]


def test_a_secret_in_a_file_is_masked(reach):
    (reach.configs[0] / "a.yaml").write_text("wandb_api_key: 0123456789abcdef0123\n")
    found = answer(reach, "get_config", config_path="a.yaml")
    assert "0123456789abcdef" not in str(found)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(["..", ".", "", "landing", "outside", "etc"]), max_size=8).map(
            "/".join
        ),
        st.text(alphabet=string.printable, max_size=600),
    )
)
def test_whatever_is_sent_stays_inside_or_is_refused(reach, name):
    real = os.path.realpath(reach.logs)
    for find in (reach.run, reach.config):
        try:
            found = find(name)
        except (SrbError, OSError):
            continue
        assert os.path.realpath(getattr(found, "path", found)).startswith(real)


@pytest.mark.parametrize("value", ["/bin/sh", "~/sh", "a/../../sh", "[x, /bin/sh]"])
def test_settings_that_name_places_outside_are_refused(reach, value):
    tree = operations.typed_changes([f"env.python={value}", "agent.gamma=0.9"])
    with pytest.raises(UsageError, match="outside of the roots"):
        reach.refuse_outside(tree)
    inside = {"env": {"data": str(reach.configs[0] / "x.npz"), "url": "https://host/a"}}
    reach.refuse_outside(inside)


def test_a_training_names_no_place_outside_in_any_way(reach):
    (reach.configs[0] / "pole.yaml").write_text(
        "algo: toy_cem\ntask: gymnasium/CartPole-v1\nenv: {kwargs: {file: /etc/passwd}}\n"
    )
    start = {"run_id": "out", "algo": "toy_cem", "env": "gymnasium/CartPole-v1"}
    typed = ["env.kwargs.file=/etc/passwd"]
    for more in ({**start, "overrides": typed}, {"run_id": "out", "config_path": "pole.yaml"}):
        assert "outside of the roots" in refusal(reach, "force_training", **more)
    run = scene.finished_run(reach.logs)
    assert "outside of the roots" in refusal(
        reach, "resume_training", run_id=run.name, overrides=["agent.net=/etc/passwd"]
    )


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KNOWN = st.sampled_from(["landing", "a.yaml", ["landing", "landing"], {"key": {}}, 0, -1, 1e308])
STARTING = ("force_training", "resume_training")


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), tool=st.sampled_from(sorted(SEED)))
def test_no_argument_makes_a_tool_crash(reach, data, tool):
    if not (reach.configs[0] / "a.yaml").exists():
        (reach.configs[0] / "a.yaml").write_text("key: 1\n")
        scene.finished_run(reach.logs)
    sent = JSON if tool in STARTING else st.one_of(JSON, KNOWN)
    names = st.sampled_from(["unknown", *SEED[tool].split()])
    arguments = data.draw(st.dictionaries(names, sent, max_size=4))
    result = ask(reach, lambda client: client.call_tool(tool, arguments))
    assert not result.is_error or result.content[0].text != f"Error executing tool {tool}"
