"""A watch gathers how far a run is from its heartbeats."""

from srb_train.operations.progress import Progress, Watch
from tests.operations import scene


def seen(**more):
    plain = {"title": "", "name": "", "phase": "", "step": 0, "budget": 100, "rate": None}
    return Progress(**{**plain, "elapsed": 0.0, **more})


def test_a_run_without_a_heartbeat_stands_where_it_began(tmp_path):
    found = Watch("toy_cem on landing", 4000, begun_at=1000).look(scene.make_run(tmp_path))
    assert (found.step, found.phase, found.rate) == (1000, "starting", None)


def test_values_are_kept_once_although_every_beat_repeats_them(tmp_path):
    run, watch = scene.make_run(tmp_path), Watch("", 4000)
    for step, value in ((500, 1.0), (700, 1.0), (1000, 2.0)):
        scene.beat(run, step, **{"return": value})
        watch.look(run)
    found = watch.look(run)
    assert (found.returns, found.successes, found.step) == ((1.0, 2.0), (), 1000)


def test_the_heartbeat_of_an_earlier_segment_is_not_believed(tmp_path):
    run = scene.make_run(tmp_path)
    scene.beat(run, 3000, **{"return": 9.0})
    found = Watch("", 4000, wall_clock=lambda: 4e9).look(run)
    assert (found.step, found.returns) == (0, ())


def test_the_newest_checkpoint_is_looked_for_once_a_second(tmp_path):
    run, now = scene.make_run(tmp_path), [0.0]
    watch = Watch("", 4000, clock=lambda: now[0])
    assert watch.look(run).checkpoint is None
    scene.save(run, 1000)
    assert watch.look(run).checkpoint is None
    now[0] = 1.5
    assert watch.look(run).checkpoint == 1000


def test_the_time_to_go_follows_from_the_rate():
    assert seen(step=40, rate=20.0).eta == 3.0
    assert seen(step=40, rate=0.0).eta is None
    assert seen(step=120, rate=None).eta == 0.0


def test_the_share_never_passes_one():
    assert (seen(step=120).share, seen(step=25).share) == (1.0, 0.25)
