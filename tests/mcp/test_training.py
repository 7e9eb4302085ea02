"""Trainings are started under a name, from arguments or a file, and waited for in slices."""

import asyncio
import time

import pytest

from srb_train import operations
from srb_train.mcp_server import slices
from tests.mcp.asking import TOY, answer, answered, ask, refusal, refused
from tests.operations import scene


def test_a_name_means_the_newest_run_and_the_old_one_stays(reach):
    short = {**TOY, "overrides": ["agent.horizon=25", "run.steps=400"]}

    async def script(client):
        first = await answered(client, "force_training", run_id="walk", **short)
        await answered(client, "wait_for_completion", run_id="walk", poll_interval=0.05)
        second = await answered(client, "force_training", run_id="walk", **short)
        await answered(client, "wait_for_completion", run_id="walk", poll_interval=0.05)
        shown = await answered(client, "get_run_status", run_id="walk")
        old = await answered(client, "get_run_status", run_id=first["run"])
        listed = await answered(client, "list_runs")
        return first, second, shown, old, listed

    first, second, shown, old, listed = ask(reach, script)
    assert next(iter(first)) == "run_id"
    assert (first["ready"], first["replaced"]) == (True, None)
    assert second["replaced"] == first["run"] != second["run"]
    assert shown["run"] == second["run"]
    assert old["status"] == "completed"
    assert [row["run_id"] for row in listed["runs"]] == ["walk", first["run"]]


def test_of_two_starts_under_one_name_one_is_refused(reach):
    async def script(client):
        calls = [client.call_tool("force_training", {**TOY, "run_id": "twice"}) for _ in range(2)]
        results = await asyncio.gather(*calls)
        said = await refused(client, "force_training", run_id="twice", **TOY)
        stopped = await answered(client, "stop_training", run_id="twice")
        again = await refused(client, "stop_training", run_id="twice")
        return sorted(result.is_error for result in results), said, stopped, again

    errors, said, stopped, again = ask(reach, script, "legacy")
    assert errors == [False, True]
    assert "stop it first" in said
    assert (stopped["stopped"], stopped["forced"], stopped["return_code"]) == (True, False, 143)
    assert "no process to stop" in again


def test_a_training_file_says_what_to_train_and_arguments_win(reach):
    (reach.configs[0] / "pole.yaml").write_text(
        "algo: toy_cem\ntask: cartpole\nrun: {steps: 4e2, seed: 5}\n"
        "env: {num_envs: 4}\nagent:\n  horizon: 50\n  elites: null\n"
    )

    async def script(client):
        started = await answered(
            client,
            "force_training",
            run_id="pole",
            config_path="pole.yaml",
            overrides=["agent.horizon=25"],
        )
        ended = await answered(client, "wait_for_completion", run_id="pole", poll_interval=0.05)
        return started, ended, await answered(client, "get_run_status", run_id="pole")

    started, ended, shown = ask(reach, script)
    assert (started["algo"], started["env"], started["seed"]) == ("toy_cem", "cartpole", 5)
    assert (started["budget"], started["config_path"]) == (400, "pole.yaml")
    assert ended["completed"]
    assert shown["overrides"][-1] == "agent.horizon=25"


def test_mistakes_are_found_before_anything_trains(reach):
    (reach.configs[0] / "odd.yaml").write_text("algo: toy_cem\ntask: cartpole\nagnt: {a: 1}\n")
    (reach.configs[0] / "unity.yaml").write_text("behaviors: {Balance: {trainer_type: ppo}}\n")
    start = {"run_id": "wrong", "num_envs": 4}
    for more, named in (
        ({}, "algo and env"),
        ({"algo": "toy_cem"}, "say env"),
        ({"algo": "toy_cemm", "env": "cartpole"}, "toy_cem"),
        ({"algo": "toy_cem", "env": "cartpol"}, "cartpole"),
        ({**TOY, "overrides": ["agent.horizn=25"]}, "horizon"),
        ({**TOY, "overrides": ["not a setting"]}, "not a setting"),
        ({"config_path": "odd.yaml"}, "nearest: agent"),
        ({"config_path": "unity.yaml"}, "ML-Agents"),
    ):
        assert named in refusal(reach, "force_training", **{**start, **more})
    assert answer(reach, "list_runs")["total"] == 0


def test_a_training_that_cannot_begin_is_an_error_with_the_end_of_its_log(reach):
    said = refusal(
        reach, "force_training", run_id="gone", algo="toy_cem", env="gymnasium/NoSuchTask-v0"
    )
    assert "run gone" in said
    assert "NoSuchTask" in said
    found = answer(reach, "check_completion", run_id="gone")
    assert (found["completed"], found["ended"]) == (False, True)


def test_a_wait_returns_after_its_slice_with_the_id_and_the_run_goes_on(reach, monkeypatch):
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.4)

    async def script(client):
        started = await answered(client, "force_training", run_id="long", **TOY)
        while started["still_running"]:
            first = await answered(client, "wait_for_first_metrics", run_id="long")
            started = {"still_running": first["still_running"]}
        begun = time.monotonic()
        waited = await answered(client, "wait_for_completion", run_id="long", timeout=3600)
        return waited, time.monotonic() - begun

    waited, seconds = ask(reach, script)
    assert next(iter(waited.items())) == ("run_id", "long")
    assert (waited["still_running"], waited["timed_out"]) == (True, False)
    assert (waited["completed"], waited["ended"]) == (False, False)
    assert seconds < 30
    assert answer(reach, "get_run_status", run_id="long")["status"] in ("starting", "running")


def test_a_client_that_takes_progress_is_told_and_waits_beyond_a_slice(reach, monkeypatch):
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.1)
    monkeypatch.setattr(slices, "PULSE_SECONDS", 0.2)
    told = []

    async def hear(progress, total, message):
        told.append((progress, total, message))

    async def script(client):
        await answered(client, "force_training", run_id="told", wait=False, **TOY)
        return await client.call_tool(
            "wait_for_completion",
            {"run_id": "told", "timeout": 1.2, "poll_interval": 0.1},
            progress_callback=hear,
        )

    waited = ask(reach, script, "legacy").structured_content
    assert (waited["still_running"], waited["timed_out"]) == (True, True)
    assert len(told) >= 3
    assert [step for step, _, _ in told] == sorted({step for step, _, _ in told})
    assert all("run told" in message and total == 1.2 for _, total, message in told)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_wait_ends_the_wait_and_not_the_run(reach, mode):
    async def script(client):
        await answered(client, "force_training", run_id="kept", **TOY)
        waiting = asyncio.create_task(
            client.call_tool("wait_for_completion", {"run_id": "kept", "timeout": 3600})
        )
        await asyncio.sleep(0.3)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return await answered(client, "get_run_status", run_id="kept")

    assert ask(reach, script, mode)["status"] in ("starting", "running")


def test_a_resume_goes_on_from_the_checkpoint_with_what_is_changed(reach):
    async def script(client):
        await answered(client, "force_training", run_id="on", **TOY)
        while not (await answered(client, "check_step", run_id="on", target_step=400))["reached"]:
            await asyncio.sleep(0.02)
        stopped = await answered(client, "stop_training", run_id="on", timeout=30)
        budget = stopped["step"] + 500
        resumed = await answered(
            client, "resume_training", run_id="on", overrides=[f"run.steps={budget}"]
        )
        ended = await answered(client, "wait_for_completion", run_id="on", poll_interval=0.05)
        done = await answered(client, "resume_training", run_id="on")
        more = await answered(client, "resume_training", run_id="on", additional=200)
        last = await answered(client, "wait_for_completion", run_id="on", poll_interval=0.05)
        return stopped, resumed, ended, done, more, last

    stopped, resumed, ended, done, more, last = ask(reach, script)
    assert (resumed["ready"], resumed["budget"]) == (True, stopped["step"] + 500)
    assert ended["completed"]
    assert (done["done"], done["ready"], done["still_running"]) == (True, False, False)
    assert more["ready"]
    assert last["current_step"] >= ended["current_step"] + 200
    assert len(operations.list_runs(reach.logs)["runs"]) == 1


def test_a_training_may_wait_for_another_one(reach):
    async def script(client):
        await answered(client, "force_training", run_id="first", **TOY)
        short = {**TOY, "overrides": ["agent.horizon=25", "run.steps=400"]}
        then = await answered(client, "force_training", run_id="then", after="first", **short)
        rows = await answered(client, "list_runs", status_filter="running")
        await answered(client, "stop_training", run_id="then")
        return then, rows

    then, rows = ask(reach, script)
    assert (then["status"], then["ready"], then["still_running"]) == ("waiting", False, True)
    assert [row["run_id"] for row in rows["runs"]] == ["then", "first"]


def test_orphans_are_listed_or_ended_and_strangers_are_left_alone(reach):
    scene.lost_run(reach.logs)
    listed = answer(reach, "cleanup_processes", dry_run=True)
    assert (listed["total_found"], listed["closed"]) == (0, [])
    ended = answer(reach, "cleanup_processes")
    assert (ended["total_killed"], len(ended["closed"])) == (0, 1)
    assert answer(reach, "list_runs")["runs"][0]["status"] == "failed"
