"""`srb agent train`: options and settings anywhere, in any spelling, become one request."""

from dataclasses import fields
from itertools import permutations

import pytest
import typer

from srb_train import operations
from srb_train.cli import app, main
from srb_train.cli.requests import SIMULATOR
from srb_train.operations import EvalRequest, TrainRequest

TASK = "gymnasium/CartPole-v1"
BASE = ["--algo", "toy_cem", "--env", TASK]


@pytest.fixture
def plan(tmp_path, capsys):
    """Ask for a plan; returns its lines as a mapping from their first word."""

    def ask(*words: str) -> dict[str, str]:
        code = main(["agent", "train", *words, "--dry-run", "--logdir", str(tmp_path)])
        out, said = capsys.readouterr()
        assert (code, said) == (0, "")
        return {line.split()[0]: line for line in out.splitlines()}

    return ask


@pytest.fixture
def asked(monkeypatch):
    """Return the request that a command line becomes, in place of carrying it out."""

    class Stop(Exception):
        pass

    def ask(*words: str) -> TrainRequest:
        caught = []

        def train(request: TrainRequest, show: object) -> None:
            caught.append(request)
            raise Stop

        monkeypatch.setattr(operations, "train", train)
        with pytest.raises(Stop):
            main(["agent", "train", *words])
        return caught[0]

    return ask


def commands(command, name=()):
    """Yield every command with its name."""
    if not getattr(command, "commands", {}):
        yield name, command
    for child in getattr(command, "commands", {}).values():
        yield from commands(child, (*name, child.name))


ALL = dict(commands(typer.main.get_command(app)))
LONG = [
    (name, option)
    for name, command in ALL.items()
    for parameter in command.params
    for option in parameter.opts
    if option.startswith("--") and ("-" in option[2:] or "_" in option)
]


@pytest.mark.parametrize(("name", "option"), LONG, ids=str)
def test_every_long_option_has_both_spellings(capsys, name, option):
    for spelling in (option.replace("_", "-"), "--" + option[2:].replace("-", "_")):
        main([*name, spelling])
        assert "No such option" not in capsys.readouterr().err
    main([*name, f"{option}_x"])
    assert "No such option" in capsys.readouterr().err


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_settings_and_options_stand_in_any_order(asked, order):
    parts = [
        ["--algo", "toy_cem"],
        ["--env", TASK],
        ["env.num_envs=4"],
        ["--hide_ui", "run.steps=5"],
    ]
    request = asked(*[word for place in order for word in parts[place]])
    assert (request.algo, request.env) == ("toy_cem", TASK)
    assert set(request.overrides) == {"env.num_envs=4", "run.steps=5"}


def test_settings_keep_their_order(asked):
    request = asked("run.steps=1", *BASE, "+agent.x=2", "--hide-ui", "~agent.x", "run.steps=3")
    assert request.overrides == ("run.steps=1", "+agent.x=2", "~agent.x", "run.steps=3")


def test_a_value_may_hold_equals_signs_without_tricks(asked):
    request = asked(*BASE, "--model", "my-epoch=3-step=900.zip", 'agent.note="a=b"')
    assert request.model == "my-epoch=3-step=900.zip"
    assert request.overrides == ('agent.note="a=b"',)


def test_short_names_of_options(asked, tmp_path):
    request = asked("-e", TASK, "--algo", "toy_cem", "--continue", "--logs", str(tmp_path))
    assert request.continue_training
    assert request.logdir == tmp_path


@pytest.mark.parametrize("text", ["5000", "5_000", "5e3", "5000.0"])
def test_a_count_is_typed_as_in_settings(asked, text):
    assert asked(*BASE, "--additional-steps", text).additional == 5000


def test_simulator_options_are_passed_on_only_when_given(asked):
    assert asked(*BASE).simulator == {}
    request = asked(*BASE, "--headless", "--livestream", "0", "--kit-args", "--a=1 --b")
    assert request.simulator == {"headless": True, "livestream": 0, "kit_args": "--a=1 --b"}


def test_simulator_options_are_refused_where_there_is_no_simulator(capsys):
    assert main(["agent", "train", *BASE, "--xr", "--livestream", "1"]) == 2
    said = capsys.readouterr().err
    assert "[unsupported_capability]" in said
    assert "--xr" in said
    assert "--livestream" in said


def test_the_request_holds_the_command_as_it_was_typed(asked):
    words = ("--algo", "toy_cem", "--debug", "--env", TASK, "--repl", "run.steps=5")
    assert asked(*words).command == ("srb", "agent", "train", *words)


def test_every_field_of_a_request_can_be_typed():
    def named(kind, name, more):
        options = {parameter.name for parameter in ALL[name].params}
        return {field.name for field in fields(kind)} - options - more

    by_hand = {"overrides", "simulator", "command"}
    assert named(TrainRequest, ("agent", "train"), by_hand) == set()
    assert named(EvalRequest, ("agent", "eval"), by_hand) == set()
    assert set(SIMULATOR) <= {parameter.name for parameter in ALL[("agent", "train")].params}


def test_a_plan_is_printed_and_nothing_is_written(plan, tmp_path):
    lines = plan(*BASE, "run.steps=5e3", "--seed", "11")
    assert "5,000 transitions" in lines["budget"]
    assert "seed         11" in lines["seed"]
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_is_shown_with_where_it_comes_from(capsys):
    assert main(["config", "show", *BASE, "env.num_envs=3", "--seed", "5"]) == 0
    out, _ = capsys.readouterr()
    (line,) = [line for line in out.splitlines() if "num_envs: 3" in line]
    assert line.endswith("# command line")
    assert "seed: 5" in out
