"""The page on configuration keeps its word: each setting that it shows works as written."""

import re
import shlex
from pathlib import Path

from srb_train import config

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
UNIONS = {
    "learning_rate": ("float", "str"),
    "target_kl": ("float",),
    "policy_kwargs.net_arch": ("mapping",),
}


def test_every_setting_on_the_page_composes_as_a_shell_would_pass_it():
    blocks = re.findall(r"```\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    words = [word for block in blocks for word in shlex.split(block)]
    assert all(config.is_override(word) for word in words)
    pendulum = config.Selected.of("gymnasium/Pendulum-v1", "gymnasium")
    found = config.compose("sb3_ppo", pendulum, words, config_dir=None, unions=UNIONS)
    assert found.env["kwargs"]["note"] == "a=b, c"
    assert found.agent["policy_kwargs"]["net_arch"] == {"pi": [64, 64], "vf": [128, 128]}
    assert found.overrides == words
