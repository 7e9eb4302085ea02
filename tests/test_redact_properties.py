"""Redaction under random attack: no position, nesting or spelling lets a planted secret out."""

import copy
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srb_train import redact

CANARY = "Zx9Qm2Lk7Pv4Rt8Wn3Yb6Hd1"

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
canary_names = st.sampled_from(
    [
        *("wandb_api_key", "WANDB_API_KEY", "apiKey", "X-API-Key", "authToken", "Authorization"),
        *("db.password", "PGPASSWORD", "secret_sauce", "session_key", "wandb.key", "Set-Cookie"),
        *("credentials", "SENTRY_DSN", "github_pat", "auth", "token2", "agent.loggers[0].token"),
    ]
)
padding = st.text("abc xyz:,.-0123", max_size=12)
POSITIONS = {
    "flag": lambda name: f"--{name} {CANARY}",
    "pair": lambda name: f"{name}={CANARY}",
    "mid-sentence pair": lambda name: f"with {name}={CANARY}, and",
    "colon": lambda name: f"{name}: {CANARY}",
    "user": lambda _: f"https://bot:{CANARY}@git.example.org/a/b.git",
    "lone user": lambda _: f"https://{CANARY}@git.example.org/a/b.git",
    "query": lambda name: f"https://h/p?a=1&{name}={CANARY}",
    "encoded query": lambda name: f"https://h/p?{quote(name).replace('_', '%5F')}={CANARY}",
    "any query": lambda _: f"https://h/p?whatever={CANARY}&x=1",
    "fragment": lambda name: f"https://h/p#{name}={CANARY}",
    "signed query": lambda _: f"https://h/p?X-Amz-Credential={CANARY}&X-Amz-Signature={CANARY}",
    "bearer": lambda _: f"Bearer {CANARY}",
    "basic": lambda _: f"Basic {CANARY}",
    "header": lambda name: f'-H "X-{name.strip("-").replace(".", "-")}-Token: {CANARY}"',
    "json": lambda name: json.dumps({"a": [{name: CANARY}]}),
    "nested json": lambda name: json.dumps({"log": json.dumps({name: CANARY})}),
    "python": lambda name: repr({"a": {name: {"deep": [CANARY]}}}),
    "yaml": lambda name: f"run:\n  {name}: {CANARY}\n  lr: 1",
    "yaml item": lambda name: f"- {name}: '{CANARY}'",
    "environment": lambda name: f"export {name}='{CANARY}'",
    "argv": lambda name: repr(["srb", f"--{name}", CANARY]),
    "kit": lambda name: f"--kit_args=--/app/{name}={CANARY}",
}


@pytest.mark.parametrize("position", POSITIONS)
@calm
@given(name=canary_names, before=padding, after=padding)
def test_a_planted_secret_survives_in_no_position(position, name, before, after):
    spot = POSITIONS[position](name)
    for line in (spot, f"{before} {spot}", f"{spot} {after}", f"{before}\n{spot}\n{after}"):
        assert CANARY not in redact.text(line)
        assert CANARY not in " ".join(redact.arguments([line]))
        assert CANARY not in json.dumps(redact.tree({"note": [line, 1]}))


@calm
@given(name=canary_names)
def test_a_planted_secret_survives_in_no_command_line(name):
    lines = [
        [f"--{name}", CANARY],
        [f"--{name}={CANARY}"],
        [f"{name}={CANARY}"],
        [f"+agent.{name}={CANARY}"],
        ["--kit_args", f"--/app/{name}={CANARY} --{name} '{CANARY} b' --x"],
        [f"--kit_args=--{name} {CANARY}"],
        [f"{name}:", CANARY],
        [f"--header={name}: Bearer", CANARY],
        ["--foo", "Bearer", CANARY],
        ["--foo", "Basic", CANARY],
        ["-p", CANARY],
    ]
    for argv in lines:
        cleaned = redact.arguments(["srb", *argv, "--seed", "1"])
        assert CANARY not in " ".join(cleaned)
        assert (len(cleaned), cleaned[-2:]) == (len(argv) + 3, ["--seed", "1"])


odd = st.text("ab ,;:&'\"\\{}[]()<>=@é\n\t", max_size=6)


@calm
@given(name=canary_names, before=odd, after=odd)
def test_no_punctuation_in_a_quoted_value_lets_the_rest_of_it_through(name, before, after):
    planted = before + CANARY + after
    assert CANARY not in redact.text(json.dumps({"a": 1, name: planted, "b": 2}))
    assert CANARY not in redact.text(repr({"a": 1, name: planted, "b": 2}))
    assert redact.arguments([f"--{name}", planted, f"{name}={planted}"])[1:] == [
        "<redacted>",
        f"{name}=<redacted>",
    ]


@calm
@given(
    st.recursive(
        st.sampled_from([f"token={CANARY}", f"https://u:{CANARY}@h", "plain", 1, None]),
        lambda inner: st.one_of(
            st.lists(inner),
            st.dictionaries(st.sampled_from(["a", "b", "api_key", f"token={CANARY}"]), inner),
            st.tuples(inner, st.just({"password": CANARY})),
            st.just({"auth": [CANARY, {"x": CANARY}], "args": ["--token", CANARY]}),
        ),
    )
)
def test_no_nesting_hides_a_planted_secret(data):
    before = copy.deepcopy(data)
    cleaned = redact.tree(data)
    assert CANARY not in json.dumps(cleaned)
    assert data == before
    assert redact.tree(cleaned) == cleaned


fragments = st.one_of(
    st.sampled_from(
        [
            *("token", "api_key", "key", "--token", "--auth", "-p", "--kit_args", "Authorization"),
            *("=", ":", ": ", " ", ", ", ",", ";", "&", "?", "#", "@", "://", "{", "}", "[", "]"),
            *('"', "'", "\\", '\\"', "\n", "\t", "Bearer ", "Basic ", "null", "env:A", "\x1b[0m"),
            *("<redacted>", "<", ">", "?sig=", "%20", "-----BEGIN PRIVATE KEY-----", " | None ="),
            *("hf_" + "a" * 22, "eyJ" + "a" * 10 + "." + "b" * 10, CANARY, "\ud800", "\r", "b'"),
        ]
    ),
    st.text(max_size=4),
)
lines = st.lists(fragments, max_size=16).map("".join)
literals = st.sampled_from([(), (CANARY,), ("redacted",), ("ab",), ("", "x y")])


@settings(calm, max_examples=400)
@given(line=st.one_of(lines, st.text()), also=literals)
def test_text_masked_twice_is_text_masked_once_and_nothing_raises(line, also):
    once = redact.text(line, also)
    assert redact.text(once, also) == once


@settings(calm, max_examples=300)
@given(argv=st.lists(lines, max_size=6), also=literals)
def test_arguments_masked_twice_are_masked_once_and_none_is_lost(argv, also):
    once = redact.arguments(argv, also)
    assert redact.arguments(once, also) == once
    assert len(once) == len(argv)


@calm
@given(st.text(), st.one_of(st.text(), st.integers(), st.none(), st.booleans()))
def test_an_entry_is_masked_by_its_name_alone_or_left_when_null_or_bool(key, item):
    cleaned = redact.value(key, item)
    if item is None or isinstance(item, bool):
        assert cleaned is item
    elif redact.is_secret_key(key) and redact.reference(item) is None:
        assert cleaned == redact.MASK
    else:
        assert cleaned == redact.tree(item)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            "a_",
            "token=",
            "token: ",
            'token="',
            "token={",
            "token=)))",
            "('token', '",
            "[",
            "\\",
        ),
        *(
            "https://h?a=",
            "?a=1",
            "?a=b&",
            "://a@",
            "://u:p:",
            "Authorization: ",
            "Bearer ",
            "sk-a",
        ),
        *("'Authorization: ", "--token ", "--token-", "x-key", "eyJaaaaaaaaa-", "token: |\n  a\n"),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "token         ",
            "aB3/",
            "token,a",
            "<redacted>",
            "\x1b[0m",
        ),
    ],
)
def test_time_grows_with_the_length_of_a_line_and_not_with_its_square(unit):
    def seconds(length):
        line = "token " + unit * (length // len(unit))
        start = time.process_time()
        redact.text(line)
        return time.process_time() - start

    assert seconds(80_000) < 12 * seconds(10_000) + 0.3


def test_a_line_of_a_megabyte_takes_seconds_at_most():
    line = "step 1 token=abc https://u:p@h/?a=b 'x' " * 25_000
    start = time.process_time()
    assert "abc" not in redact.text(line)
    assert time.process_time() - start < 30
