"""What a secret looks like inside text: one rule a function, each from a line to a line.

Every pattern is linear in the length of the line: a run of characters is tried from its beginning
only, and what may be looked at twice is bounded.
"""

import base64
import binascii
import re
from collections.abc import Callable
from urllib.parse import unquote_plus

from srb_train.redact.names import MASK, is_secret_key, reference, words

_ORDINARY_WORDS = words(
    "a access an and are argument at auth authentication authorization by can cannot challenge "
    "credential credentials error expired flag for format from has header headers if in invalid is "
    "key keys may missing must not of on option or realm required scheme schemes shall should "
    "string the to token tokens type value was when with"
)
_HARMLESS_PARAMETERS = words(
    "branch download format lang limit offset order page per_page q ref rev revision sort tab v "
    "version"
)
_CLOSERS = ")]}\"'.,:;!?"
OPTION = re.compile(r"--|--[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*|-[A-Za-z]")
LONE_BASE64 = re.compile(r"\s*[A-Za-z0-9+/]{16,}={0,2}\s*")
_NO_SECRET = re.compile(r"(?i:null|none|true|false)|~|env:[A-Za-z_][A-Za-z0-9_]*", re.A)
_OPAQUE = re.compile(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[\w+/=~]{16,}", re.A)
HINTS = (
    *("key", "token", "secret", "passw", "passphrase", "auth", "bearer", "basic", "cookie", "pwd"),
    *("credential", "dsn", "://", "?", "-----begin", "hf_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_"),
    *("github_", "sk-", "glpat-", "akia", "asia", "xox", "eyj", "aiza", "ya29", "npm_", "pypi-"),
    *("nvapi-", "pat_", "pat-", "pat=", "pat:", "pat ", "pat\t", 'pat"', "pat'", "pat]", "pat\\"),
)  # lower case; text without any of them holds no secret

_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r".*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)",
    re.DOTALL,
)


def _private_keys(line: str) -> str:
    """Mask a PEM block, or a line that can only come from the inside of one."""
    body = line.strip()
    if LONE_BASE64.fullmatch(line) and _is_key_material(body):
        return line.replace(body, MASK)
    return _PEM.sub(MASK, line)


def _is_key_material(body: str) -> bool:
    mixed = any(c.islower() for c in body) and any(c.isupper() for c in body)
    padded = body.endswith("=") and len(body) % 4 == 0
    return mixed and any(c.isdigit() for c in body) and (padded or len(body) >= 40)


_URL = re.compile(
    r"://(?P<url>(?:[^\s\"'<>`]|<redacted>)+)"
    r"|\?(?P<query>(?=[\w%.\-\[\]]+=)(?:[^\s\"'<>`]|<redacted>)+)",
    re.A,
)
_USER_IN_PATH = re.compile(r"://[^\s/?#@]*@")  # of a second URL that follows without a space
_SIGNED = re.compile(
    r"(?:^|[?&;#])(?:sig|sign|signature|hmac|policy|x-(?:amz|cos|goog|oss)-[\w-]{1,40}"
    r"|awsaccesskeyid|googleaccessid|key-pair-id)=",
    re.A | re.I,
)
_PARAMETER_BREAK = re.compile(r"([&;?#]|\\u0026)")
_SMALL_VALUE = re.compile(r"\d{1,5}|true|false", re.A | re.I)
_SEARCH_VALUE = re.compile(r"[\w.,%/+\-]{0,64}", re.A)


def _urls(line: str) -> str:
    """Mask who logs in and what is asked: the user part, query and fragment values."""
    return _URL.sub(_masked_url, line)


def _masked_url(match: re.Match[str]) -> str:
    if match["url"] is None:
        return "?" + _masked_parameters(match["query"])
    authority = re.split(r"[/?#]", match["url"], maxsplit=1)[0]
    user, at, _ = authority.rpartition("@")
    if not at and re.search(r":(?!\d*\Z)[^\]:]*\Z", authority):
        user, at, _ = match["url"].rpartition("@")  # a password that holds "/", "?" or "#"
    rest = match["url"][len(user + at) :]
    found = re.search(r"[?#]", rest)
    start = found.end() if found else len(rest)
    place = _USER_IN_PATH.sub(f"://{MASK}@", rest[:start])
    return "://" + (MASK + at if at else "") + place + _masked_parameters(rest[start:])


def _masked_parameters(parameters: str) -> str:
    body = parameters.rstrip(_CLOSERS)
    signed = bool(_SIGNED.search(body))
    pieces = _PARAMETER_BREAK.split(body)
    pieces[::2] = [_masked_parameter(piece, signed) for piece in pieces[::2]]
    return "".join(pieces) + parameters[len(body) :]


def _masked_parameter(piece: str, signed: bool) -> str:
    name, equals, value = piece.partition("=")
    if not equals:
        return MASK if _OPAQUE.fullmatch(piece) else piece
    if not is_secret_key(unquote_plus(unquote_plus(name))):
        if name.lower() in _HARMLESS_PARAMETERS and _SEARCH_VALUE.fullmatch(value):
            return piece
        if not value or (not signed and _SMALL_VALUE.fullmatch(value)):
            return piece
    return f"{name}={MASK}"


_HEADER_LINE = re.compile(
    r"^(?P<head>(?P<indent>[ \t]*)(?:[-*<>][ \t]+)?(?P<name>[\w.\-]{1,80})[ \t]*:[ \t]+)"
    r"(?P<rest>[|>][+\-]?(?:\n(?P=indent)[ \t]+\S.*)+|\S.*)$",
    re.A | re.M,
)
_HEADER_NAME = (
    r"(?:(?:proxy-)?authorization|(?:set-)?cookie"
    r"|x-[\w-]{0,40}?(?:auth|key|secret|token)[\w-]{0,40})"
)
_HEADER_INSIDE = re.compile(
    rf"(?P<quoted>(?P<q>[\"']){_HEADER_NAME}[ \t]*:[ \t]*)(?:(?!\\?(?P=q))[^\n])+"
    rf"|(?<![\w-])(?P<bare>{_HEADER_NAME}[ \t]*:[ \t]*)\S.*",
    re.A | re.I,
)


def _headers(line: str) -> str:
    """Mask `Name: value` to the end of its line, or of the quotes around it."""
    return _HEADER_INSIDE.sub(_masked_inside, _HEADER_LINE.sub(_masked_header, line))


def _masked_header(match: re.Match[str]) -> str:
    name, rest = match["name"], match["rest"]
    if name.lower() == "key" or not is_secret_key(name):
        return match[0]
    if rest[0] in "\"'{[\\" or _NO_SECRET.fullmatch(rest.rstrip()):
        return match[0]
    return match["head"] + MASK


def _masked_inside(match: re.Match[str]) -> str:
    head = match["quoted"] or match["bare"]
    return head + MASK if is_secret_key(head) else match[0]


_PAIR = re.compile(
    r"(?<![\w.\-])(?P<name>[\w.\-]++)(?P<gap>\\{0,3}[\"']?\]?[ \t]*+"
    r"(?::[ \t]*(?:str|bytes|SecretStr|Any)(?:[ \t]*\|[ \t]*None)?[ \t]*="
    r"|=[>=]?|:=?(?!:|//))[ \t]*+|[\"'],[ \t]?(?=b?[\"']))",
    re.A,
)
_FLAG = re.compile(
    r"(?<![\w.\-/])(?P<name>--?[A-Za-z/][\w./\-\[\]]*+)(?P<gap>[\"']?,?[ \t]++|[\"'],(?=[\"']))",
    re.A,
)
_QUOTED = re.compile(
    r"(?P<open>[bfru]{0,2}(?P<q>\\{1,7}[\"']|\"\"\"|'''|[\"']))"
    r"(?P<body>(?:(?!(?P=q))(?:\\.|[^\n\\]))*)(?P<close>(?P=q)?)",
    re.A | re.I,
)
_PLAIN = re.compile(
    r"(?:(?:basic|bearer|digest|token)[ \t]+)?"
    r"(?:[^\s,;&]|[,;&](?![\s\[({]|\Z|[\"'\w.\-]{1,64}[ ]?[=:]))+",
    re.A | re.I,
)
_BRACKET = re.compile(r"\\.|[\"'\[\]{}]")


def _pairs(line: str) -> str:
    """Mask the values of secret-named pairs: `k=v`, `k: v`, `"k": "v"`, `("k", "v")`."""
    return _spliced(line, _PAIR, _is_pair)


def _is_pair(line: str, match: re.Match[str], value: str) -> bool:
    if "," in match["gap"]:
        return line[max(0, match.start() - 3) : match.start()].rstrip("\"'b").endswith("(")
    return match["name"].lower() != "key" or bool(_OPAQUE.fullmatch(value.strip("\\\"'")))


def _flags(line: str) -> str:
    """Mask what follows a secret-named flag, in a command or in the list that it was made of."""
    return _spliced(line, _FLAG, _is_flag)


def _is_flag(line: str, match: re.Match[str], value: str) -> bool:
    word = value.strip("\\\"',")
    ordinary = OPTION.fullmatch(word) or word.lower() in _ORDINARY_WORDS
    return not ordinary and not match["name"].startswith("--no-")


def _spliced(
    line: str, finder: re.Pattern[str], wanted: Callable[[str, re.Match[str], str], bool]
) -> str:
    """Mask the value behind each secret name that `finder` finds and `wanted` confirms."""
    parts, done = [], 0
    for match in finder.finditer(line):
        if match.start() < done or not is_secret_key(match["name"]):
            continue
        masked, end = _masked_value(line, match.end())
        if wanted(line, match, line[match.end() : end]):
            parts += [line[done : match.end()], masked]
            done = end
    return "".join((*parts, line[done:]))


def _masked_value(line: str, start: int) -> tuple[str, int]:
    """Return the mask for the value that begins at `start`, and where the value ends."""
    if quoted := _QUOTED.match(line, start):
        body = quoted["body"]
        kept = not body or reference(body) is not None
        return quoted["open"] + (body if kept else MASK) + quoted["close"], quoted.end()
    if line.startswith(("{", "["), start):
        end = _closing(line, start)
        return (line[start:end] if end - start == 2 else MASK), end
    plain = _PLAIN.match(line, start)
    if not plain:
        return "", start
    word = plain[0].rstrip(_CLOSERS)
    kept = word in ("", MASK) or _NO_SECRET.fullmatch(word) is not None
    return (word if kept else MASK) + plain[0][len(word) :], plain.end()


def _closing(line: str, start: int) -> int:
    """Return where the bracket that opens at `start` is closed again, or the end of the text."""
    depth, inside = 0, ""
    for match in _BRACKET.finditer(line, start):
        mark = match[0]
        if inside:
            inside = "" if mark == inside else inside
        elif mark in "\"'":
            inside = mark
        else:
            depth += (mark in "{[") - (mark in "]}")
            if depth == 0:
                return match.end()
    return len(line)


_SCHEME = re.compile(
    r"(?<![A-Za-z0-9])(?P<scheme>basic|bearer)(?P<gap>(?:[\"']?,?[ \t]+|%20|\+)\\?[\"']?)"
    r"(?P<value>[^\s\"'<>,;)\]}\\]+)",
    re.A | re.I,
)
_CREDENTIAL = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:hf_|gh[opsru]_|npm_)[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|(?:sk-|glpat-|pypi-|nvapi-)[A-Za-z0-9_\-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w\-]{30,}"
    r"|xox[a-z]-[\w\-]{10,}|ya29\.[\w\-]{20,}|eyJ[\w\-]{8,512}\.[\w\-]{8,}(?:\.[\w\-]*)?)",
    re.A,
)


def _schemes(line: str) -> str:
    """Mask what follows Bearer or Basic, unless it is a word of an ordinary sentence."""
    return _SCHEME.sub(_masked_scheme, line)


def _masked_scheme(match: re.Match[str]) -> str:
    value = match["value"].rstrip(_CLOSERS)
    if not is_scheme_value(match["scheme"].lower(), value):
        return match[0]
    return match["scheme"] + match["gap"] + MASK + match["value"][len(value) :]


def is_scheme_value(scheme: str, value: str) -> bool:
    """Tell whether `value` behind Bearer or Basic is a credential and not a word of a sentence."""
    if scheme == "bearer":
        return bool(value) and value.lower() not in _ORDINARY_WORDS
    lettered = any(c.isalpha() for c in value) and any(c.isdigit() for c in value)
    return value.endswith("=") or (lettered and len(value) >= 8) or _is_user_and_password(value)


def _is_user_and_password(value: str) -> bool:
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii()


def _credentials(line: str) -> str:
    """Mask vendors' keys, which are known by how they begin."""
    return _CREDENTIAL.sub(MASK, line)


RULES = (_private_keys, _urls, _headers, _pairs, _flags, _schemes, _credentials)
