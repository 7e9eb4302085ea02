"""Which words of a command are settings such as `env.num_envs=512`."""

from collections.abc import Sequence

from srb_train import config, redact
from srb_train.errors import UsageError


def typed_settings(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words in their order; any that sets no key is an error which names it.

    What decides is the left side of the first `=`, so a value may hold `=` and an address such as
    `https://host/?a=1` is no setting.
    """
    strays = [word for word in words if not config.is_override(word)]
    if strays:
        named = ", ".join(f"{word!r:.80}" for word in redact.arguments(strays))
        raise UsageError(
            f"neither an option nor a setting: {named}; "
            "settings are typed as env.num_envs=512, without spaces around the ="
        )
    return tuple(words)
