"""What the tools tell of runs is what the operations know, bounded, under the contract's words."""

import json

import pytest

from srb_train.mcp_server import bounds
from srb_train.runs.metrics import MetricsWriter
from tests.mcp.asking import answer, answered, ask, refusal
from tests.operations import scene


def test_a_run_is_told_in_one_look(reach):
    run = scene.finished_run(reach.logs)
    found = answer(reach, "get_run_status", run_id=run.name, last_n_rewards=2)
    assert next(iter(found)) == "run_id"
    assert (found["status"], found["latest_step"], found["budget"]) == ("completed", 4000, 4000)
    assert found["reward_trend"] == [{"step": 2000, "value": 20.0}, {"step": 4000, "value": 12.5}]
    assert [(row["steps"], row["best"]) for row in found["checkpoints"]] == [
        (2000, True),
        (4000, False),
    ]
    assert found["return_code"] == 0


def test_a_run_without_data_has_no_return_instead_of_zero(reach):
    run = scene.make_run(reach.logs)
    found = answer(reach, "get_run_status", run_id=run.name)
    assert (found["latest_reward"], found["reward_trend"]) == (None, [])
    for tool, goal in (
        ("check_reward", {"target_reward": -1e9}),
        ("check_step", {"target_step": 1}),
    ):
        checked = answer(reach, tool, run_id=run.name, **goal)
        assert (checked["reached"], checked["current_reward"]) == (False, None)


def test_a_killed_run_has_ended_but_is_not_completed(reach):
    run = scene.lost_run(reach.logs)
    found = answer(reach, "check_completion", run_id=run.name)
    assert (found["completed"], found["ended"], found["status"]) == (False, True, "lost")
    assert found["current_step"] == 1500
    rows = answer(reach, "list_runs", status_filter="failed")["runs"]
    assert [(row["status"], row["step"]) for row in rows] == [("lost", 1500)]
    assert answer(reach, "list_runs", status_filter="running")["runs"] == []


def test_targets_are_checked_at_once(reach):
    run = scene.finished_run(reach.logs)
    assert answer(reach, "check_step", run_id=run.name, target_step=4000)["reached"]
    assert not answer(reach, "check_step", run_id=run.name, target_step=4001)["reached"]
    assert answer(reach, "check_reward", run_id=run.name, target_reward=12.5)["reached"]
    assert not answer(reach, "check_reward", run_id=run.name, target_reward=12.6)["reached"]
    done = answer(reach, "check_completion", run_id=run.name)
    assert (done["completed"], done["still_running"], done["return_code"]) == (True, False, 0)


def test_new_checkpoints_are_those_that_were_not_named(reach):
    run = scene.finished_run(reach.logs)
    first = answer(reach, "check_checkpoint", run_id=run.name)
    assert (first["new_checkpoint"], first["total_checkpoints"]) == (True, 2)
    again = answer(
        reach,
        "check_checkpoint",
        run_id=run.name,
        known_checkpoints=first["all_checkpoints"],
    )
    assert (again["new_checkpoint"], again["new_files"]) == (False, [])


def test_metrics_come_by_name_by_pattern_and_by_the_words_of_others(reach):
    run = scene.finished_run(reach.logs)
    found = answer(reach, "get_metrics", run_id=run.name, last_n=1)
    assert found["metrics"]["episode/return"] == [{"step": 4000, "value": 12.5}]
    assert found["available_keys"] == ["episode/return", "episode/success_rate"]
    other = answer(
        reach,
        "get_metrics",
        run_id=run.name,
        metric_keys=["Environment/Cumulative Reward", "episode/succ*", "nothing/like_it"],
        last_n=-1,
    )
    assert [point["step"] for point in other["metrics"]["episode/return"]] == [1000, 2000, 4000]
    assert other["missing_keys"] == ["nothing/like_it"]


def test_long_curves_are_thinned_and_a_note_says_so(reach):
    run = scene.make_run(reach.logs)
    writer = MetricsWriter(run.metrics_path)
    for step in range(bounds.POINTS + 2000):
        writer.write(step, {"episode/return": float(step)})
    writer.close()
    found = answer(reach, "get_metrics", run_id=run.name, last_n=-1)
    points = found["metrics"]["episode/return"]
    assert len(points) == bounds.POINTS
    assert points[-1]["step"] == bounds.POINTS + 1999
    assert "evenly spaced" in found["note"]


def test_a_value_that_is_not_finite_is_told_from_a_missing_one(reach):
    run = scene.make_run(reach.logs)
    scene.measure(run, (10, float("nan"), 0.5))
    (point,) = answer(reach, "get_metrics", run_id=run.name)["metrics"]["episode/return"]
    assert point == {"step": 10, "value": None, "nonfinite": "nan"}


def test_logs_are_bounded_in_lines_and_in_bytes(reach):
    run = scene.finished_run(reach.logs)
    run.log_path.write_text("".join(f"line {number}\n" for number in range(5000)))
    few = answer(reach, "get_training_logs", run_id=run.name, last_n_lines=2)
    assert (few["log_lines"], few["note"]) == (["line 4998", "line 4999"], None)
    most = answer(reach, "get_training_logs", run_id=run.name, last_n_lines=-1)
    assert len(most["log_lines"]) == bounds.LINES
    assert "log_path" in most["note"]
    run.log_path.write_text("x" * 100_000 + "\n" + "y" * 100 + "\n")
    long = answer(reach, "get_training_logs", run_id=run.name)["log_lines"]
    assert len(long[0]) < bounds.LINE_CHARACTERS + 10
    assert long[1] == "y" * 100


def test_runs_are_listed_newest_first_and_filtered(reach):
    for seed in range(3):
        scene.finished_run(reach.logs, seed=seed)
    scene.make_run(reach.logs, env="cartpole")
    found = answer(reach, "list_runs", last_n=2)
    assert (len(found["runs"]), found["total"]) == (2, 4)
    assert [row["env"] for row in found["runs"]] == ["cartpole", "landing"]
    assert answer(reach, "list_runs", status_filter="completed", last_n=-1)["total"] == 3
    assert answer(reach, "list_runs", env="cartpole")["total"] == 1
    assert "running, completed, failed, stopped" in refusal(
        reach, "list_runs", status_filter="finished"
    )


def test_runs_of_several_families_are_compared_at_equal_steps(reach):
    one = scene.finished_run(reach.logs)
    other = scene.finished_run(reach.logs, algo="sb3_ppo", agent_params={"gamma": 0.9})
    place = one.record()["run_id"]
    found = answer(reach, "compare_runs", run_ids=[place, str(other.path)], last_n=1)
    series = found["comparison"][place]
    assert (series["final_value"], series["max_value"], series["num_points"]) == (12.5, 20.0, 3)
    assert series["trend"] == [{"step": 4000, "value": 12.5}]
    assert len(series["at_steps"]) == len(found["steps"])
    assert "agent.gamma" in found["differences"]


def test_a_run_is_not_compared_with_itself(reach):
    run = scene.finished_run(reach.logs)
    assert "one and the same" in refusal(reach, "compare_runs", run_ids=[run.name, str(run.path)])


def test_checkpoints_are_located_newest_first(reach):
    run = scene.finished_run(reach.logs)
    found = answer(reach, "export_model", run_id=run.name, last_n=1)
    assert (found["total_checkpoints"], found["checkpoints"][0]["steps"]) == (2, 4000)
    assert found["models"] == []


def test_what_only_engines_have_is_refused_with_what_to_do_instead(reach):
    run = scene.finished_run(reach.logs)
    for tool in ("get_metrics", "export_model"):
        assert "one policy" in refusal(reach, tool, run_id=run.name, behavior_name="Balance")
    start = {"run_id": "engine", "algo": "toy_cem"}
    for more, instead in (
        ({"env_path": "builds/x.x86_64"}, "pass env"),
        ({"env": "cartpole", "time_scale": 20.0}, "leave time_scale out"),
        ({"env": "cartpole", "base_port": 5005}, "opens no port"),
        ({"env": "cartpole", "no_graphics": True}, "draws nothing"),
    ):
        assert instead in refusal(reach, "force_training", **start, **more)
    assert answer(reach, "list_runs")["total"] == 1


def test_the_papers_of_a_run_are_resources(reach):
    run = scene.finished_run(reach.logs)
    run.log_path.write_text("it says something\n")
    place = run.record()["run_id"]

    async def read(client):
        texts = {}
        for paper in ("record", "metrics", "log"):
            found = await client.read_resource(f"run://{place}/{paper}")
            texts[paper] = found.contents[0].text
        labels = await client.read_resource("catalog://labels")
        tasks = await client.read_resource("catalog://tasks")
        return texts, json.loads(labels.contents[0].text), json.loads(tasks.contents[0].text)

    for mode in ("auto", "legacy"):
        texts, labels, tasks = ask(reach, read, mode)
        assert json.loads(texts["record"])["status"] == "completed"
        assert json.loads(texts["metrics"])["metrics"]["episode/return"][-1]["value"] == 12.5
        assert texts["log"] == "it says something"
        assert "toy_cem" in {row["label"] for row in labels["labels"]}
        assert "landing" in {row["task"] for row in tasks["tasks"]}


def test_common_work_has_prompts(reach):
    async def prompts(client):
        listed = await client.list_prompts()
        one = await client.get_prompt("why_did_it_fail", {"run_id": "walker"})
        return [prompt.name for prompt in listed.prompts], one.messages[0].content.text

    names, text = ask(reach, prompts)
    assert names == ["train_and_watch", "compare_trainings", "why_did_it_fail", "tune"]
    assert "walker" in text


def test_an_unknown_run_is_an_error_that_names_the_nearest(reach):
    run = scene.finished_run(reach.logs)
    said = refusal(reach, "get_run_status", run_id=run.name[:-3] + "XYZ")
    assert run.name in said


def test_a_misspelt_argument_is_refused(reach):
    run = scene.finished_run(reach.logs)
    assert "target_setp" in refusal(
        reach, "check_step", run_id=run.name, target_step=1, target_setp=2
    )


@pytest.mark.parametrize("last_n", [-2, 10**9])
def test_counts_out_of_bounds_are_refused(reach, last_n):
    assert "last_n" in refusal(reach, "list_runs", last_n=last_n)


def test_several_questions_are_answered_while_one_waits(reach):
    import asyncio

    scene.make_run(reach.logs)

    async def both(client):
        waiting = asyncio.create_task(
            answered(client, "wait_for_completion", run_id="landing", timeout=1.0)
        )
        await asyncio.sleep(0)
        listed = await answered(client, "list_runs")
        return listed, waiting.done(), await waiting

    listed, done, waited = ask(reach, both, "legacy")
    assert (listed["total"], done) == (1, False)
    assert (waited["still_running"], waited["timed_out"]) == (True, True)
