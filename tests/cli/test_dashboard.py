"""The dashboard shows runs, curve and log, keeps its cursor, and asks before it stops."""

import asyncio
import importlib.util
import os

import pytest

from srb_train import operations
from srb_train.cli import main
from tests.operations import scene

if importlib.util.find_spec("textual") is None:
    pytest.skip("Textual is not installed", allow_module_level=True)

from textual.widgets import DataTable, Input, Log, Static

from srb_train.cli.dashboard import Dashboard, Question

SIZE = (120, 36)


def drive(logdir, script, every=0.2):
    """Run a dashboard without a terminal, and a coroutine that uses it."""

    async def run():
        app = Dashboard(logdir, every)
        async with app.run_test(size=SIZE) as pilot:
            await script(app, pilot)

    asyncio.run(run())


async def until(pilot, fact):
    """Wait on a condition while the app goes on."""
    for _ in range(400):
        if fact():
            return
        await pilot.pause(0.05)
    raise AssertionError("it did not come to pass")


def table(app):
    return app.query_one("#runs", DataTable)


def cells(app):
    """Return the rows of the table as text."""
    return [[str(cell) for cell in table(app).get_row_at(n)] for n in range(table(app).row_count)]


def curve(app):
    return str(app.query_one("#curve", Static).render())


def test_runs_are_shown_with_their_curve(tmp_path):
    living = scene.make_run(tmp_path)
    scene.begin(living)
    scene.beat(living, 1000, **{"return": 2.5})
    scene.measure(living, (500, 1.0, 0.0), (1000, 2.5, 0.5))
    scene.finished_run(tmp_path)

    async def script(app, pilot):
        await until(pilot, lambda: table(app).row_count == 2)
        first, second = cells(app)
        assert first[0] == living.record()["run_id"]
        assert first[1:4] == ["running", "1,000", "25%"]
        assert first[6] == "2.5"
        assert second[1] == "completed"
        await until(pilot, lambda: "mean return" in curve(app) and "1,000" in curve(app))
        await until(pilot, lambda: "2 runs" in str(app.query_one("#machine", Static).render()))

    drive(tmp_path, script)


def test_the_cursor_stays_on_its_run_when_others_come(tmp_path):
    runs = [scene.finished_run(tmp_path) for _ in range(3)]

    async def script(app, pilot):
        await until(pilot, lambda: table(app).row_count == 3)
        await pilot.press("down")
        await until(pilot, lambda: app._selected == str(runs[1].path))
        scene.finished_run(tmp_path)
        await until(pilot, lambda: table(app).row_count == 4)
        await pilot.pause()
        assert app._selected == str(runs[1].path)
        assert table(app).cursor_row == 2

    drive(tmp_path, script)


def test_the_log_takes_the_place_of_the_curve_and_grows(tmp_path):
    run = scene.finished_run(tmp_path)
    run.log_path.write_text("first line [not markup]\n")

    async def script(app, pilot):
        await until(pilot, lambda: table(app).row_count == 1)
        await pilot.press("f")
        log = app.query_one("#log", Log)
        await until(pilot, lambda: "first line [not markup]" in list(log.lines))
        assert not app.query_one("#curve", Static).display
        with run.log_path.open("a") as file:
            file.write("second line\n")
        await until(pilot, lambda: "second line" in list(log.lines))
        assert list(log.lines).count("second line") == 1
        await pilot.press("f")
        await until(pilot, lambda: app.query_one("#curve", Static).display and not log.display)

    drive(tmp_path, script)


def test_words_choose_runs_and_escape_shows_all_again(tmp_path):
    scene.finished_run(tmp_path)
    scene.finished_run(tmp_path, env="cartpole")

    async def script(app, pilot):
        await until(pilot, lambda: table(app).row_count == 2)
        await pilot.press("slash", *"cart")
        await until(pilot, lambda: table(app).row_count == 1)
        assert app.query_one("#filter", Input).value == "cart"
        await pilot.press("enter")
        assert app.focused is table(app)
        await pilot.press("escape")
        await until(pilot, lambda: table(app).row_count == 2)

    drive(tmp_path, script)


def test_a_stop_is_asked_about_and_done_once(tmp_path, monkeypatch):
    run = scene.make_run(tmp_path)
    scene.begin(run)
    scene.beat(run, 10)
    stopped = []

    def stop(path):
        stopped.append(path)
        return {"run": "it", "status": "stopped"}

    # The run's process is this one: a real stop would end the test.
    monkeypatch.setattr(operations, "stop", stop)

    async def script(app, pilot):
        await until(pilot, lambda: table(app).row_count == 1 and app._selected)
        await pilot.press("s")
        assert isinstance(app.screen, Question)
        await pilot.press("n")
        assert not isinstance(app.screen, Question)
        await pilot.pause()
        assert stopped == []
        await pilot.press("s")
        await pilot.press("y")
        await until(pilot, lambda: stopped == [str(run.path)])

    drive(tmp_path, script)
    assert run.record()["pid"] == os.getpid()


def test_what_has_ended_is_not_stopped(tmp_path):
    scene.finished_run(tmp_path)

    async def script(app, pilot):
        await until(pilot, lambda: table(app).row_count == 1 and app._selected)
        await pilot.press("s")
        assert not isinstance(app.screen, Question)

    drive(tmp_path, script)


def test_an_empty_root_is_no_mistake_and_q_leaves(tmp_path):
    async def script(app, pilot):
        await until(pilot, lambda: "0 runs" in str(app.query_one("#machine", Static).render()))
        assert "no run" in curve(app)
        await pilot.press("r", "s", "f", "f", "q")
        await until(pilot, lambda: not app.is_running)

    drive(tmp_path / "none", script)


def test_many_runs_make_no_more_rows_than_fit_a_screen_or_two(tmp_path, monkeypatch):
    for _ in range(30):
        scene.make_run(tmp_path)
    look = Dashboard(tmp_path)._board.look
    assert len(look(most=20)["rows"]) == 20

    async def script(app, pilot):
        monkeypatch.setattr(app._board, "look", lambda words: look(words, most=20))
        await until(pilot, lambda: table(app).row_count == 20)
        await until(
            pilot, lambda: "20 of 30 runs" in str(app.query_one("#machine", Static).render())
        )

    drive(tmp_path, script)


def test_without_a_terminal_it_says_what_to_use_instead(tmp_path, capsys):
    assert main(["run", "top", "--logdir", str(tmp_path)]) == 2
    assert "srb run list" in capsys.readouterr().err
