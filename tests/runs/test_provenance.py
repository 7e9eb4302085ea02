"""Provenance: real repositories, real programs, and nothing but nulls where there are none."""

import json
import os
import shutil
import subprocess
import time

import psutil
import pytest

import srb_train
from srb_train.runs import provenance

CANARY = "Zx9Qm2Lk7Pv4Rt8Wn3Yb6Hd1"
SOURCE_FIELDS = {
    *("version", "git_commit", "git_commit_short", "git_branch", "git_dirty", "git_remote"),
    *("git_diff_stat", "git_submodules"),
}


def git(folder, *words):
    settings = ["user.name=Ann", "user.email=ann@example.org", "protocol.file.allow=always"]
    options = [part for setting in settings for part in ("-c", setting)]
    done = subprocess.run(
        ["git", *options, "-C", str(folder), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder):
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=trunk")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


@pytest.fixture
def checkout(tmp_path):
    return repository(tmp_path / "checkout")


def source(root, environ=os.environ):
    return provenance.collect(root, environ)["srb"]


def all_null(facts):
    return all(facts[name] is None for name in SOURCE_FIELDS - {"version"})


def program(folder, name, script):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_every_section_and_field_is_there_and_json_can_hold_it(tmp_path):
    facts = provenance.collect(tmp_path, {})
    assert set(facts) == {"srb", "system", "platform", "environment_variables", "dependencies"}
    assert set(facts["srb"]) == SOURCE_FIELDS
    assert set(facts["system"]) == {
        *("hostname", "platform", "os", "os_version", "arch", "python", "cpu_count"),
        *("cpu_affinity", "cpu_model", "memory_total_bytes", "container", "gpu_count"),
        *("gpu_devices", "driver", "cuda"),
    }
    assert set(facts["system"]["container"]) == {"is_container", "type", "image"}
    assert set(facts["platform"]) == {
        *("isaac_sim", "isaac_lab", "image_id", "host", "gpu", "driver")
    }
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_a_clean_checkout_says_its_commit_and_branch(checkout):
    facts = source(checkout)
    commit = git(checkout, "rev-parse", "HEAD")
    assert facts == {
        "version": srb_train.__version__,
        "git_commit": commit,
        "git_commit_short": commit[:7],
        "git_branch": "trunk",
        "git_dirty": False,
        "git_remote": None,
        "git_diff_stat": None,
        "git_submodules": {},
    }


def test_an_edit_makes_it_dirty_and_shows_as_counts_and_never_as_text(checkout):
    (checkout / "a.txt").write_text(f"token {CANARY}\n")
    facts = source(checkout)
    assert facts["git_dirty"] is True
    assert "a.txt" in facts["git_diff_stat"]
    assert "1 insertion" in facts["git_diff_stat"]
    assert CANARY not in json.dumps(facts)


def test_a_new_file_makes_it_dirty_and_an_ignored_one_does_not(checkout):
    (checkout / ".gitignore").write_text("logs\n")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "-m", "second")
    (checkout / "logs").write_text("x")
    assert source(checkout)["git_dirty"] is False
    (checkout / "new.py").write_text("x")
    assert source(checkout)["git_dirty"] is True


def test_a_detached_head_has_a_commit_and_no_branch(checkout):
    git(checkout, "checkout", "--quiet", "--detach")
    facts = source(checkout)
    assert facts["git_commit"] == git(checkout, "rev-parse", "HEAD")
    assert facts["git_branch"] is None


def test_a_repository_without_a_commit_is_dirty_or_not_and_has_no_commit(tmp_path):
    git(tmp_path, "init", "--quiet")
    facts = source(tmp_path)
    assert (facts["git_commit"], facts["git_commit_short"]) == (None, None)
    assert facts["git_dirty"] is False
    (tmp_path / "a").write_text("x")
    assert source(tmp_path)["git_dirty"] is True


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"https://bot:{CANARY}@git.example.org/a/b.git", "https://git.example.org/a/b.git"),
        (f"https://{CANARY}@git.example.org/a/b.git", "https://git.example.org/a/b.git"),
        (
            f"https://git.example.org/a.git?private_token={CANARY}",
            "https://git.example.org/a.git?private_token=<redacted>",
        ),
        ("git@git.example.org:a/b.git", "git@git.example.org:a/b.git"),
        ("https://git.example.org/@a/b.git", "https://git.example.org/@a/b.git"),
    ],
)
def test_the_remote_is_shown_without_who_logs_in(checkout, url, shown):
    git(checkout, "remote", "add", "backup", "https://other.example.org/x.git")
    git(checkout, "remote", "add", "origin", url)
    facts = source(checkout)
    assert facts["git_remote"] == shown
    assert CANARY not in json.dumps(facts)


@pytest.fixture
def with_assets(checkout, tmp_path):
    assets = repository(tmp_path / "upstream")
    git(checkout, "submodule", "--quiet", "add", "-b", "trunk", str(assets), "assets/srb assets")
    git(checkout, "commit", "--quiet", "-m", "assets")
    return checkout, checkout / "assets" / "srb assets"


def test_a_submodule_says_its_pin_and_its_commit_and_both_are_one_when_in_step(with_assets):
    checkout, inside = with_assets
    facts = source(checkout)["git_submodules"]["assets/srb assets"]
    commit = git(inside, "rev-parse", "HEAD")
    assert (facts["commit"], facts["gitlink"]) == (commit, commit)
    assert (facts["branch"], facts["dirty"]) == ("trunk", False)
    assert facts["url"].endswith("/upstream")


def test_a_submodule_that_moved_on_shows_another_commit_than_its_pin(with_assets):
    checkout, inside = with_assets
    pin = git(inside, "rev-parse", "HEAD")
    git(inside, "commit", "--quiet", "--allow-empty", "-m", "next")
    (inside / "a.txt").write_text("edited")
    facts = source(checkout)
    assets = facts["git_submodules"]["assets/srb assets"]
    assert (assets["gitlink"], assets["commit"]) == (pin, git(inside, "rev-parse", "HEAD"))
    assert assets["gitlink"] != assets["commit"]
    assert (assets["dirty"], facts["git_dirty"]) == (True, True)


def test_a_submodule_that_is_not_checked_out_has_a_pin_alone(with_assets, tmp_path):
    checkout, inside = with_assets
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(checkout), str(clone))
    assets = source(clone)["git_submodules"]["assets/srb assets"]
    assert assets["gitlink"] == git(inside, "rev-parse", "HEAD")
    assert (assets["commit"], assets["dirty"]) == (None, None)


def test_the_address_of_a_submodule_is_shown_without_who_logs_in(with_assets):
    checkout, _ = with_assets
    modules = checkout / ".gitmodules"
    url = f"https://bot:{CANARY}@git.example.org/assets.git"
    git(checkout, "config", "-f", str(modules), "submodule.assets/srb assets.url", url)
    facts = source(checkout)
    shown = facts["git_submodules"]["assets/srb assets"]["url"]
    assert shown == "https://git.example.org/assets.git"
    assert CANARY not in json.dumps(facts)


def test_a_linked_work_tree_is_a_checkout_too(checkout, tmp_path):
    git(checkout, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    assert source(tmp_path / "side")["git_branch"] == "side"


def test_a_checkout_reached_by_a_link_is_the_same_checkout(checkout, tmp_path):
    (tmp_path / "link").symlink_to(checkout)
    assert source(tmp_path / "link") == source(checkout)


def test_a_package_inside_another_repository_does_not_carry_its_commit(checkout):
    inside = checkout / "lib" / "site-packages"
    inside.mkdir(parents=True)
    assert all_null(source(inside))
    (inside / ".git").mkdir()
    assert all_null(source(inside))


def test_variables_that_point_git_elsewhere_are_not_obeyed(checkout, tmp_path):
    other = repository(tmp_path / "other")
    git(other, "commit", "--quiet", "--allow-empty", "-m", "second")
    environ = {**os.environ, "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    assert source(checkout, environ) == source(checkout)
    assert all_null(source(tmp_path, environ))


def test_without_git_all_is_null(checkout, tmp_path):
    assert all_null(source(checkout, {"PATH": str(tmp_path)}))
    assert all_null(source(checkout, {}))


def test_a_git_that_fails_or_is_no_program_gives_nulls(checkout, tmp_path):
    assert all_null(source(checkout, program(tmp_path / "bin", "git", "echo oops; exit 3")))
    (tmp_path / "bin" / "git").write_text("no program")
    (tmp_path / "bin" / "git").chmod(0o755)
    assert all_null(source(checkout, {"PATH": str(tmp_path / "bin")}))


def test_a_git_that_hangs_is_given_up_with_everything_it_started(checkout, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "PATIENCE", 0.3)
    note = tmp_path / "pids"
    script = f"sleep 600 & echo $! >> {note}; wait"
    began = time.monotonic()
    assert all_null(source(checkout, program(tmp_path / "bin", "git", script)))
    assert time.monotonic() - began < 30
    pids = [int(word) for word in note.read_text().split()] if note.exists() else []
    while any(map(is_alive, pids)):
        assert time.monotonic() - began < 60


def is_alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_slow_status_leaves_dirty_unknown_and_keeps_the_commit(checkout, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "PATIENCE", 2.0)
    real = shutil.which("git")
    script = f'case "$*" in *"status --porcelain"*) sleep 600;; *) exec {real} "$@";; esac'
    facts = source(checkout, program(tmp_path / "bin", "git", script))
    assert facts["git_commit"] == git(checkout, "rev-parse", "HEAD")
    assert (facts["git_dirty"], facts["git_branch"], facts["git_submodules"]) == (None, "trunk", {})


def test_the_driver_and_its_devices_are_read_from_the_vendors_program(tmp_path):
    script = """
case "$1" in
  --version) echo 'DRIVER version : 550.54.15'; echo 'CUDA Version        : 12.4';;
  *) echo 'NVIDIA H100 80GB HBM3, GPU-1a, 81559, 550.54.15'
     echo 'NVIDIA A2, GPU-2b, [N/A], 550.54.15';;
esac"""
    facts = provenance.collect(tmp_path, program(tmp_path / "bin", "nvidia-smi", script))
    system = facts["system"]
    assert (system["gpu_count"], system["driver"], system["cuda"]) == (2, "550.54.15", "12.4")
    assert system["gpu_devices"] == [
        {"name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-1a", "memory_total_bytes": 81559 << 20},
        {"name": "NVIDIA A2", "uuid": "GPU-2b", "memory_total_bytes": None},
    ]
    assert facts["platform"]["gpu"] == "NVIDIA H100 80GB HBM3"
    assert facts["platform"]["driver"] == "550.54.15"


def test_the_kernel_is_asked_where_the_vendors_program_is_absent_or_fails(tmp_path):
    (tmp_path / "gpus" / "0000:01").mkdir(parents=True)
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar\nGCC version: 12\n"
    )
    (tmp_path / "gpus" / "0000:01" / "information").write_text(
        "Model: \t\t NVIDIA H100\nIRQ:   \t\t 17\nGPU UUID: \t GPU-1a\n"
    )
    device = {"name": "NVIDIA H100", "uuid": "GPU-1a", "memory_total_bytes": None}
    assert provenance._gpus({}, tmp_path) == ("550.54.15", [device])
    assert provenance._gpus({"gpus": None}, tmp_path / "none") == (None, [])
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release\n"
    )
    assert provenance._gpus({}, tmp_path)[0] == "565.57.01"


@pytest.mark.parametrize(
    ("files", "environ", "kind", "image"),
    [
        ({}, {}, None, None),
        ({".dockerenv": ""}, {"SRB_IMAGE_ID": "sha256:1"}, "docker", "sha256:1"),
        ({"run/.containerenv": 'engine="x"\nimage="a/b:1"\n'}, {}, "podman", "a/b:1"),
        ({"proc/1/cgroup": "0::/kubepods/x"}, {}, "kubernetes", None),
        ({}, {"APPTAINER_CONTAINER": "/a.sif"}, "apptainer", "/a.sif"),
    ],
)
def test_a_container_is_known_by_what_it_leaves(tmp_path, files, environ, kind, image):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert provenance._container(environ, tmp_path)["container"] == {
        "is_container": kind is not None,
        "type": kind,
        "image": image,
    }


def test_of_the_environment_only_harmless_names_are_kept(tmp_path):
    environ = {
        "WANDB_API_KEY": CANARY,
        "HOME": "/home/me",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "XLA_FLAGS": f"--token={CANARY} --a=1",
        "SRB_HOST": f"node-{CANARY}",
        "SRB_IMAGE_ID": "sha256:1",
    }
    facts = provenance.collect(tmp_path, environ)
    kept = facts["environment_variables"]
    assert set(kept) == set(provenance.ENVIRONMENT_VARIABLES)
    assert (kept["CUDA_VISIBLE_DEVICES"], kept["OMP_NUM_THREADS"]) == ("0,1", None)
    assert facts["platform"]["image_id"] == "sha256:1"
    assert facts["platform"]["host"] == "node-<redacted>"
    assert CANARY not in json.dumps(facts)


def test_packages_have_a_version_or_null(tmp_path):
    versions = provenance.collect(tmp_path, {})["dependencies"]
    assert set(versions) == set(provenance.PACKAGES)
    assert versions["psutil"] == psutil.__version__
    assert versions["isaacsim"] is None


def test_the_simulator_pair_is_read_from_its_folders_where_no_package_says_it(tmp_path):
    (tmp_path / "VERSION").write_text("5.0.0-rc.1\n")
    environ = {"ISAACSIM_PATH": str(tmp_path), "ISAACLAB_PATH": str(tmp_path / "absent")}
    facts = provenance.collect(tmp_path, environ)["platform"]
    assert (facts["isaac_sim"], facts["isaac_lab"]) == ("5.0.0-rc.1", None)


def test_the_machine_is_described(tmp_path):
    system = provenance.collect(tmp_path, os.environ)["system"]
    assert system["memory_total_bytes"] == psutil.virtual_memory().total
    assert system["cpu_count"] == os.cpu_count()
    assert system["hostname"] and system["arch"] and system["python"]


def test_a_look_takes_no_longer_than_a_blink(checkout):
    fastest = min(_seconds(checkout) for _ in range(5))
    assert fastest < 1.0


def _seconds(root):
    start = time.perf_counter()
    provenance.collect(root, os.environ)
    return time.perf_counter() - start
