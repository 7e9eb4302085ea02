"""Redaction: what is secret by name or by shape never leaves; what is harmless stays."""

import json
import re
import shlex
from urllib.parse import quote

import pytest

from srb_train import redact

CANARY = "Zx9Qm2Lk7Pv4Rt8Wn3Yb6Hd1"

SECRET_NAMES = re.findall(
    r"\S+",
    """
    wandb_api_key WANDB_API_KEY apiKey APIKey X-API-Key HF_TOKEN authToken Authorization password
    db.password PGPASSWORD MYSQL_PWD passwd passphrase client_secret secret_sauce session_key
    private-key ssh_key wandb.key --wandb-key credentials cookie Set-Cookie SENTRY_DSN github_pat
    auth bearer accesskey env.secrets.path token2 agent.loggers[0].token
    """,
)
HARMLESS_NAMES = re.findall(
    r"\S+",
    """
    max_tokens token_dim num_token tokens author monkey path obs_key sort_key primary_key
    keyboard tokenizer env.num_envs run.steps keys basic compat_mode PWD n_key
    """,
)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_name_that_holds_a_secret_is_known(name):
    assert redact.is_secret_key(name)


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_a_name_that_only_resembles_one_is_not(name):
    assert not redact.is_secret_key(name)


COMMAND_LINES = [
    ("--wandb-api-key abc", "--wandb-api-key <redacted>"),
    ("--token=abc", "--token=<redacted>"),
    ("--token=", "--token=<redacted>"),
    ("env.wandb.api_key=abc", "env.wandb.api_key=<redacted>"),
    ("+experiment.secret_sauce=1", "+experiment.secret_sauce=<redacted>"),
    ("wandb.key=x", "wandb.key=<redacted>"),
    ("HF_TOKEN=x", "HF_TOKEN=<redacted>"),
    ("authToken=x session_key=x", "authToken=<redacted> session_key=<redacted>"),
    ("--auth --headless", "--auth --headless"),
    ("--auth -x", "--auth -x"),
    ("--auth -- x", "--auth -- x"),
    ("--auth -abc1", "--auth <redacted>"),
    ("--auth --Weird", "--auth <redacted>"),
    ("--no-auth next", "--no-auth next"),
    ("--auth Bearer abc", "--auth <redacted> <redacted>"),
    ("-p x --seed 1", "-p <redacted> --seed 1"),
    ("-p=x", "-p=<redacted>"),
    ("--header Authorization: Bearer abc --x", "--header Authorization: Bearer <redacted> --x"),
    ("--header 'Authorization: Bearer' abc", "--header 'Authorization: <redacted>' <redacted>"),
    ("--header 'X-API-Key: abc'", "--header 'X-API-Key: <redacted>'"),
    ("--header X-API-Key: abc next", "--header X-API-Key: <redacted> next"),
    ("--header Cookie: a=b; c=d next", "--header Cookie: <redacted> <redacted> next"),
    ("--foo Bearer abc", "--foo Bearer <redacted>"),
    ("--foo 'Bearer abc'", "--foo 'Bearer <redacted>'"),
    ("--foo Basic abc== x", "--foo Basic <redacted> x"),
    ("basic training", "basic training"),
    ("--storage postgresql://u:p@h/db", "--storage postgresql://<redacted>@h/db"),
    ("https://h/x.git?sig=1", "https://h/x.git?sig=<redacted>"),
    ("--api-key env:MY_KEY token=env:MY_TOKEN", "--api-key env:MY_KEY token=env:MY_TOKEN"),
    ("a.x={password: 'p,q', y: 3}", "a.x={password: '<redacted>', y: 3}"),
    ("max_tokens=5 sort_key=x author=x monkey=x path=x primary_key=x", None),
    ("+a.b_key=x env.num_envs=512 run.steps=2e6 --hide_ui", None),
]


@pytest.mark.parametrize(("line", "expected"), COMMAND_LINES)
def test_a_command_line_keeps_its_tokens_and_loses_its_secrets(line, expected):
    quoted = line.replace("; ", "';' ").replace("a.x={password: 'p,q', y: 3}", "'a.x={Q}'")
    argv = [token.replace("Q", "password: 'p,q', y: 3") for token in shlex.split(quoted)]
    kept = (expected or line).replace("'", "")
    assert " ".join(redact.arguments(argv)).replace("'", "") == kept


@pytest.mark.parametrize("flag", ["--kit_args", "--kit-args"])
@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("--/app/auth/token=zzz --foo", "--/app/auth/token=<redacted> --foo"),
        ("--/app/name='a b' --foo", "--/app/name='a b' --foo"),
        ("--token zzz --name 'a b'", "--token <redacted> --name 'a b'"),
        ("--token zzz --name 'broken", "--token <redacted> --name 'broken"),
    ],
)
def test_forwarded_arguments_are_read_alike_in_one_token_and_in_two(flag, inner, expected):
    assert redact.arguments([flag, inner, "x=1"]) == [flag, expected, "x=1"]
    assert redact.arguments([f"{flag}={inner}", "x=1"]) == [f"{flag}={expected}", "x=1"]


TEXTS = [
    ("https://user:pw@host/p?token=a&x=1", "https://<redacted>@host/p?token=<redacted>&x=1"),
    ("https://host/#access_token=aa&b=2", "https://host/#access_token=<redacted>&b=2"),
    ("https://host/p?api%5Fkey=aa", "https://host/p?api%5Fkey=<redacted>"),
    ("?sig=abc&X-Amz-Signature=zz", "?sig=<redacted>&X-Amz-Signature=<redacted>"),
    ("(see https://h/p?foo=bar).", "(see https://h/p?foo=<redacted>)."),
    ("https://h/p?sig=ab&se=2&v=2", "https://h/p?sig=<redacted>&se=<redacted>&v=2"),
    ("postgres://u:pa/s#s@h/db", "postgres://<redacted>@h/db"),
    ("redis://:pw@h:6379", "redis://<redacted>@h:6379"),
    ("https://a/b,https://u:p@h/c", "https://a/b,https://<redacted>@h/c"),
    ("Authorization: Bearer abc def", "Authorization: <redacted>"),
    ("Authorization: Basic abc==", "Authorization: <redacted>"),
    ("X-API-Key: abc", "X-API-Key: <redacted>"),
    ("cookie: a=b; c=d", "cookie: <redacted>"),
    ("bearer abc", "bearer <redacted>"),
    ("'Bearer abc'", "'Bearer <redacted>'"),
    ("got Bearer abc, retry", "got Bearer <redacted>, retry"),
    ("Basic dXNlcjpwYXNz x", "Basic <redacted> x"),
    ("Basic abc==", "Basic <redacted>"),
    ("{token: abc, a: {api_key: 1, b: 2}}", "{token: <redacted>, a: {api_key: <redacted>, b: 2}}"),
    ("agent.x={password: 'p,q', y: 3}", "agent.x={password: '<redacted>', y: 3}"),
    ("some text token=abc", "some text token=<redacted>"),
    ("f(token=abc, lr=0.1)", "f(token=<redacted>, lr=0.1)"),
    ("f(lr=0.1, token=abc)", "f(lr=0.1, token=<redacted>)"),
    ('{"token":12345,"lr":0.1}', '{"token":<redacted>,"lr":0.1}'),
    ('"api_key": "x\\"y", "lr": 1', '"api_key": "<redacted>", "lr": 1'),
    ('"{\\"token\\": \\"abc\\"}"', '"{\\"token\\": \\"<redacted>\\"}"'),
    ('{"auth": {"user": "a", "b": ["c"]}, "lr": 1}', '{"auth": <redacted>, "lr": 1}'),
    ("headers[token] = 'abc'", "headers[token] = '<redacted>'"),
    ('os.environ["HF_TOKEN"] = "abc"', 'os.environ["HF_TOKEN"] = "<redacted>"'),
    ("  def f(api_key: str | None = 'abc')", "  def f(api_key: str | None = '<redacted>')"),
    ("[(b'x-api-key', b'abc'), (b'a', b'b')]", "[(b'x-api-key', b'<redacted>'), (b'a', b'b')]"),
    ("['srb', '--token', 'a b', '--x', '1']", "['srb', '--token', '<redacted>', '--x', '1']"),
    ("run: srb train --token abc --seed 1", "run: srb train --token <redacted> --seed 1"),
    ('curl -H "Authorization: Bearer a b" x', 'curl -H "Authorization: <redacted>" x'),
    ("> Authorization: Digest username='a'", "> Authorization: <redacted>"),
    ("DEBUG sent Cookie: a=b; c=d", "DEBUG sent Cookie: <redacted>"),
    ("  password: my long phrase\nlr: 1", "  password: <redacted>\nlr: 1"),
    ("private_key: |\n  abc\n  def\nlr: 1", "private_key: <redacted>\nlr: 1"),
    ("\x1b[33mtoken\x1b[0m=\x1b[32m'abc'\x1b[0m", "token='<redacted>'"),
    ("uploaded with hf_" + "a1B2" * 6, "uploaded with <redacted>"),
    ("ghp_" + "a1B2" * 6 + " and sk-" + "a1" * 12, "<redacted> and <redacted>"),
    ("github_pat_" + "a1B2_" * 6 + " glpat-" + "a1" * 12, "<redacted> <redacted>"),
    ("AKIA" + "ABCD" * 4 + " xoxb-" + "12345678901", "<redacted> <redacted>"),
    ("jwt eyJ" + "hbGciOiJI" + ".eyJ" + "zdWIiOiIx" + ".abc_-d!", "jwt <redacted>!"),
    (
        "a\n-----BEGIN RSA PRIVATE KEY-----\nab\n-----END RSA PRIVATE KEY-----\nb",
        "a\n<redacted>\nb",
    ),
    ("-----BEGIN OPENSSH PRIVATE KEY-----", "<redacted>"),
    ("MIIEvQ+BADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj", "<redacted>"),
    ("aB3/" * 5 + "a1==", "<redacted>"),
    ("wandb: key: 0123456789abcdef0123", "wandb: key: <redacted>"),
]


@pytest.mark.parametrize(("line", "expected"), TEXTS)
def test_secrets_in_text_are_masked_and_the_rest_stays(line, expected):
    assert redact.text(line) == expected


HARMLESS_TEXTS = [
    "max_tokens=5 sort_key=x author=x monkey=x path=x primary_key=x",
    "the token budget is 512; Bearer authentication is required",
    "basic usage of the Basic TensorBoard writer, a bearer token is invalid",
    "unknown key: agent.gama; nearest valid key: agent.gamma",
    "key = jax.random.PRNGKey(0)",
    "api_key=null, token=None, password=''",
    "http://localhost:6006/?darkMode=true and https://h/p?page=2&q=a%20b&ref=main&v=1.2#L10",
    "auth::Login() at 12:30:45, http://[::1]:80/x",
    "git@github.com:owner/name.git https://h/@scope/name",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "use --token to say who you are; pass --auth --headless",
    "wandb_api_key: env:WANDB_API_KEY",
    "\x1b[32mkeys\x1b[0m stay coloured",
    "",
]


@pytest.mark.parametrize("line", HARMLESS_TEXTS)
def test_harmless_text_comes_back_as_it_is(line):
    assert redact.text(line) == line


def test_a_container_inside_itself_and_one_too_deep_are_placeholders():
    loop = {"a": 1}
    loop["me"] = [loop]
    assert redact.tree(loop) == {"a": 1, "me": [redact.CYCLE]}
    twice = [1]
    assert redact.tree({"a": twice, "b": twice}) == {"a": [1], "b": [1]}
    deep = CANARY
    for _ in range(redact.MAX_DEPTH + 1):
        deep = {"x": deep}
    for _ in range(redact.MAX_DEPTH):
        deep = redact.tree(deep)["x"] if _ == 0 else deep["x"]
    assert deep == redact.TOO_DEEP
    assert redact.secrets_in(loop) == []


def test_bytes_sets_and_other_objects_have_their_place():
    thing = object()
    data = {"b": b"token=abc", "s": {"token=abc"}, "o": thing, 5: 1.5, "t": (1, "token=abc")}
    cleaned = redact.tree(data)
    assert cleaned["b"] == "token=<redacted>"
    assert cleaned["s"] == {"token=<redacted>"}
    assert cleaned["o"] is thing
    assert (cleaned[5], cleaned["t"]) == (1.5, (1, "token=<redacted>"))


def test_literal_secrets_in_a_specification_are_found_by_path():
    data = {
        "logger": {"api_key": CANARY, "token": "env:HF_TOKEN", "password": None, "auth": True},
        "note": f"see https://u:{CANARY}@h/x",
        "auth": {"user": None, "how": ["env:A", 5]},
        "cookie": {"user": None, "how": ["env:A"]},
        "args": ["--token", CANARY],
        "list": [{"a": 1, "secret": 7}],
        "token_dim": 64,
        "lr": 0.5,
    }
    expected = ["logger.api_key", "note", "auth", "args", "list.0.secret"]
    assert redact.secrets_in(data) == expected
    assert redact.secrets_in({"name": f"x{CANARY}y"}) == []
    assert redact.secrets_in({"name": f"x{CANARY}y"}, {CANARY}) == ["name"]


def test_a_reference_says_where_a_secret_is_and_stays():
    assert redact.reference("env:WANDB_API_KEY") == "WANDB_API_KEY"
    assert redact.reference("env:") is None
    assert redact.reference(5) is None
    spec = {"wandb_api_key": "env:WANDB_API_KEY"}
    assert redact.tree(spec) == spec
    assert redact.arguments(["agent.api_key=env:K"]) == ["agent.api_key=env:K"]


def test_known_values_are_masked_wherever_they_stand():
    odd = "p@ss/w\"rd é'1"
    environ = {"WANDB_API_KEY": CANARY, "DB_PASSWORD": odd, "HF_TOKEN": "short", "HOME": "/home/me"}
    also = redact.known(environ)
    assert also == {CANARY, odd}
    for spelled in (CANARY, odd, quote(odd, safe=""), json.dumps(odd)[1:-1]):
        assert redact.text(f"run x{spelled}y at /home/me", also) == "run x<redacted>y at /home/me"
    assert redact.arguments([f"note=a{CANARY}", CANARY], also) == ["note=a<redacted>", "<redacted>"]
    assert redact.tree({"a": [CANARY, {CANARY: 1}]}, also) == {
        "a": ["<redacted>", {"<redacted>": 1}]
    }


def test_each_line_of_a_known_value_is_known():
    assert redact.known({"SSH_KEY": "first line\nno\nsecond line\n"}) >= {
        "first line",
        "second line",
    }


def test_the_values_that_a_spec_refers_to_are_known():
    spec = {"env_params": {"kwargs": {"api_key": "env:TASK_KEY", "note": "env:ABSENT"}}, "n": [1]}
    assert redact.referenced(spec, {"TASK_KEY": "opensesame"}) == {"opensesame"}
