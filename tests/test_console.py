"""`--repl` opens a shell on what was trained."""

import subprocess
import sys

from tests.conftest import environment

TOY = ("--algo", "toy_cem", "--env", "cartpole", "env.num_envs=4", "agent.horizon=10")
ASK = (
    "print('a', spec.algo, env.num_envs, policy.act(env.reset(0)).shape, run.record()['status'])\n"
)


def test_the_shell_holds_run_spec_env_and_policy(tmp_path):
    words = ("agent", "train", *TOY, "run.steps=40", "--logdir", "logs", "--hide_ui", "--repl")
    done = subprocess.run(
        [sys.executable, "-m", "srb_train", *words],
        cwd=tmp_path,
        env=environment(),
        input=ASK,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a toy_cem 1 (1, 1) completed" in done.stdout


def test_a_shell_that_is_not_installed_is_named_with_the_way_out(tmp_path, srb):
    srb("agent", "train", *TOY, "run.steps=40", "--logdir", "logs", check=True)
    (run,) = (tmp_path / "logs" / "cartpole" / "toy_cem").iterdir()
    done = subprocess.run(
        [sys.executable, "-m", "srb_train.console", str(run), "bpython"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install bpython" in done.stderr
