"""The exceptions of this package."""


class AssayError(Exception):
    """The base of all exceptions that this package defines."""


class CommandError(AssayError):
    """The command gave no result. `outcome` has its status and its output; it is None if the command could not be started."""

    def __init__(self, message, outcome=None):
        super().__init__(message)
        self.outcome = outcome


class LedgerError(AssayError):
    """A file is no ledger, is damaged, or has no such run or table."""


class ReportError(AssayError):
    """A document is no report of assay, or has a version that this package does not know."""


class FixtureError(AssayError):
    """Tensors or attributes that a fixture file cannot hold, or a file that is no fixture file."""


class BundleError(AssayError):
    """A folder is no bundle, or a file of it is missing, changed or too short."""
