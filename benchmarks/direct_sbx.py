"""The script that someone would write without this product: `direct_sbx SPEC FOLDER [cached]`.

It imports Stable Baselines Jax and the task, nothing else of ours, and takes its sizes and threads
from a spec. With `cached` JAX keeps compiled programs, as `srb` has it; by itself it does not.
"""

import json
import os
import sys
from pathlib import Path

import flax.linen
import jax
import sbx
from stable_baselines3.common.vec_env import VecNormalize

from benchmarks.direct_sb3 import OURS, Batch, schedule
from srb_train.envs.tasks import machine

ALGORITHMS = {"sbx_ppo": sbx.PPO, "sbx_sac": sbx.SAC}


def limit(threads):
    """Give XLA as many threads as the spec says."""
    os.environ["PJRT_NPROC"] = str(threads)
    if threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"


def keep_programs():
    """Keep compiled programs beside those of `srb`."""
    jax.config.update("jax_compilation_cache_dir", os.path.expanduser("~/.cache/srb-train/jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def main(spec_file, folder, programs=""):
    """Train as the spec says."""
    spec = json.loads(Path(spec_file).read_text(encoding="utf-8"))
    limit(spec["threads"])
    if programs == "cached":
        keep_programs()
    params = {k: v for k, v in spec["env_params"].items() if k not in ("name", "id")}
    env = Batch(machine.make(spec["env"], spec["num_envs"], params), spec["seed"])
    agent = dict(spec["agent_params"])
    if agent["normalize_observation"] or agent["normalize_reward"]:
        env = VecNormalize(
            env,
            norm_obs=agent["normalize_observation"],
            norm_reward=agent["normalize_reward"],
            clip_obs=agent["clip_obs"],
            gamma=agent["gamma"],
        )
    agent = {key: schedule(value) for key, value in agent.items() if key not in OURS}
    activation = agent["policy_kwargs"].pop("activation_fn")
    if activation is not None:
        agent["policy_kwargs"]["activation_fn"] = getattr(flax.linen, activation)
    model = ALGORITHMS[spec["algo"]](
        "MlpPolicy", env, seed=spec["seed"], tensorboard_log=folder, **agent
    )
    model.learn(spec["steps"])
    model.save(Path(folder) / "model.zip")


if __name__ == "__main__":
    main(*sys.argv[1:])
