"""Every error that a user can cause, with one root; messages are one sentence that says what to do."""


class EigencleanError(Exception):
    """Root of all errors raised on purpose; the command line turns it into one line and exit code 2."""


class InvalidOption(EigencleanError, ValueError):
    """An option has a value that is not allowed."""


class InvalidData(EigencleanError, ValueError):
    """The data cannot be judged as they are: wrong shape, NaN, missing labels, unreadable file."""


class MissingEvidence(EigencleanError, ValueError):
    """A detector needs something (features, probabilities, losses) that was not given."""


class MissingExtra(EigencleanError, ImportError):
    """A library from an optional extra is not installed."""


class TooFewSamples(InvalidData):
    """There are too few samples or classes to judge anything."""


class EigencleanWarning(UserWarning):
    """Something was handled in a documented way that the user should know about."""
