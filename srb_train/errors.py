"""Every failure on purpose, with the exit code the command line leaves by.

SrbError                  1
├── UsageError            2   the command, a key or a value is wrong
├── UnsupportedError      2   this label, task or machine cannot do what was asked
├── MissingDependency     2   a package is not installed; the message holds the pip line
├── IntegrityError        2   a file is absent, incomplete or altered
├── TrainingFailed        1   the run started and could not go on
└── Interrupted         128+n  a signal ended the run after it was saved
"""

import signal


class SrbError(Exception):
    """A failure that is told to the user in a few lines, without a traceback."""

    exit_code = 1
    category = "failure"


class UsageError(SrbError):
    """The command line, a configuration key or a value is wrong."""

    exit_code = 2
    category = "invalid_input"


class UnsupportedError(SrbError):
    """A label, task, backend or machine cannot do what was asked."""

    exit_code = 2
    category = "unsupported_capability"


class MissingDependency(SrbError):
    """An optional package is not installed; the message names the pip command."""

    exit_code = 2
    category = "optional_dependency_unavailable"


class IntegrityError(SrbError):
    """A file that a run depends on is absent, incomplete or altered."""

    exit_code = 2
    category = "integrity_failure"


class TrainingFailed(SrbError):
    """A run started and could not go on."""

    exit_code = 1
    category = "workflow_failure"


class Interrupted(SrbError):
    """A signal ended the run after its state was saved; leaves by 128 + the signal's number."""

    category = "interrupted"

    def __init__(self, signal_name: str, message: str) -> None:
        """Keep the signal's name (`SIGINT`) beside the message."""
        super().__init__(message)
        self.exit_code = 128 + signal.Signals[signal_name].value


class StopTraining(Exception):
    """Raised by the tracked environment to leave a framework's loop from within a step."""
