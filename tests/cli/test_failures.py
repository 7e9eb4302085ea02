"""Whatever goes wrong is a few lines on stderr and an exit code that the reference names."""

import subprocess
import sys

import pytest

import srb_train
from srb_train import operations
from srb_train.cli import main
from srb_train.errors import Interrupted, SrbError, TrainingFailed, UsageError

SECRET = "Zx9Qm2Lk7Pv4Rt8Wn3Yb6Hd1"


@pytest.fixture
def failing(monkeypatch):
    """Let `srb ls` raise an error of our choice."""

    def fail(error: BaseException) -> None:
        def algos() -> None:
            raise error

        monkeypatch.setattr(operations, "algos", algos)

    return fail


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("--seed is wrong"), 2, "error [invalid_input] --seed is wrong\n"),
        (TrainingFailed("it ended"), 1, "error [workflow_failure] it ended\n"),
        (Interrupted("SIGTERM", "stopped"), 143, "error [interrupted] stopped\n"),
        (OSError(28, "No space left", "/x"), 1, "error [failure] /x: No space left\n"),
        (SrbError(f"token={SECRET}"), 1, "error [failure] token=<redacted>\n"),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(failing, capsys, error, code, said):
    failing(error)
    assert main(["ls"]) == code
    assert capsys.readouterr() == ("", said)


def test_a_long_error_is_cut_to_fifteen_lines(failing, capsys):
    failing(UsageError("\n".join(f"line {number}" for number in range(40))))
    main(["ls"])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 15
    assert lines[-1] == "... and 26 more lines"


def test_an_interrupt_leaves_by_130_without_a_word(failing, capsys):
    failing(KeyboardInterrupt())
    assert main(["ls"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_debug_adds_the_traceback_without_secrets(failing, capsys):
    failing(UsageError(f"password={SECRET}"))
    assert main(["ls", "--debug"]) == 2
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.endswith("error [invalid_input] password=<redacted>\n")
    assert SECRET not in said


def test_what_nobody_expected_is_a_traceback_without_secrets():
    program = (
        "import srb_train.operations as o, srb_train.cli as c\n"
        f"def algos(): raise RuntimeError('api_key={SECRET}')\n"
        "o.algos = algos\nc.main(['ls'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "RuntimeError: api_key=<redacted>" in done.stderr
    assert SECRET not in done.stderr


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["run", "lst"], ["'lst'", "'list'", "srb run --help"]),
        (["agnt"], ["'agnt'", "'agent'"]),
        (["agent", "train", "--alg", "x"], ["--alg", "--algo", "srb agent train --help"]),
        (["agent", "train", "--env", "landing"], ["--algo", "srb agent train --help"]),
        (["agent", "train", "--algo", "a", "--env", "b", "--seed", "-1"], ["--seed"]),
        (["agent", "train", "--algo", "a", "--env", "b", "--additional", "2.5"], ["--additional"]),
        (["agent", "train", "--algo", "a", "--env", "b", "--xr=1"], ["--xr"]),
        (["agent", "train", "--algo", "a", "--env", "b", "fast", "more"], ["'fast'", "'more'"]),
        (["agent", "train", "--algo", "toy_cam", "--env", "landing"], ["toy_cam", "toy_cem"]),
        (["agent", "train", "--algo", "toy_cem", "--env", "lnding"], ["lnding", "landing"]),
        (["agent", "train", "--", "x"], ["`--`", "x"]),
        (["run", "show", "nix"], ["'nix'"]),
        (["run", "compare", "one"], ["two or more"]),
        (["run", "list", "--status", "done"], ["--status", "completed"]),
    ],
    ids=" ".join,
)
def test_a_wrong_word_is_one_line_with_the_way_out(capsys, words, parts):
    assert main(words) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("error [invalid_input] ")
    assert len(said.splitlines()) == 1
    assert [part for part in parts if part not in said] == []


@pytest.mark.parametrize(
    "words",
    [
        ["--wandb-key", SECRET],
        [f"--wandb-key={SECRET}"],
        [f"--api_token={SECRET}", "agent.gamma=0.9"],
        [f"api_key:{SECRET}"],
        ["--seed", f"password={SECRET}"],
    ],
    ids=["apart", "joined", "token", "stray", "value"],
)
def test_a_secret_is_never_said_back(capsys, words):
    assert main(["agent", "train", "--algo", "toy_cem", "--env", "landing", *words]) == 2
    out, said = capsys.readouterr()
    assert SECRET not in out + said


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_comes_without_being_asked_for_too(capsys, words):
    assert main(words) == 0
    assert "agent" in capsys.readouterr().out


@pytest.mark.parametrize("group", ["agent", "run", "config"])
def test_a_group_alone_prints_its_help(capsys, group):
    assert main([group]) == 0
    assert f"Usage: srb {group}" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"srb {srb_train.__version__}\n"
