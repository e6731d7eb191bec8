"""Runs the command `assay`, without a shell."""

import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import NamedTuple

from assay.errors import CommandError
from assay.report import Report

# Statuses with which the command gives a result: passed, failed, nothing passed, a budget of time ran out.
_RESULTS = (0, 1, 4, 5)


class Outcome(NamedTuple):
    """A command that has ended."""

    arguments: tuple  # without the program
    status: int
    output: str
    messages: str  # what it wrote to stderr


def find_command():
    """Returns the path of the command: $ASSAY_COMMAND, else `assay` of $PATH."""
    wanted = os.environ.get("ASSAY_COMMAND") or "assay"
    found = shutil.which(wanted)
    if found is None:
        raise CommandError(f"there is no command {wanted!r}: add assay to PATH, or set ASSAY_COMMAND")
    return found


def call(*arguments, cwd=None, timeout=None):
    """Runs `assay ARGUMENTS...` and returns its Outcome.

    Raises CommandError if the exit status tells of no result: wrong usage, an internal error, a signal. A failed case is a result.
    """
    words = tuple(os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in arguments)
    ended = subprocess.run(
        [find_command(), *words],
        cwd=cwd,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        check=False,
    )
    outcome = Outcome(words, ended.returncode, ended.stdout, ended.stderr)
    if outcome.status not in _RESULTS:
        said = outcome.messages.strip() or outcome.output.strip()
        raise CommandError(f"assay {' '.join(words)} ended with status {outcome.status}: {said}", outcome)
    return outcome


def _options(options):
    """The words for keyword arguments: policy="checked" is --policy=checked, fail_fast=True is --fail-fast, a list repeats its option."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words.append(f"{option}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return words


def _record(command, cases, ledger, options):
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file = pathlib.Path(folder) / "ledger.sqlite" if ledger is None else ledger
        outcome = call(command, *_options({**options, "ledger": file}), *(["--", *cases] if cases else []))
        document = call("report", *_options({"ledger": file, "format": "json"}))
    return Report.parse(document.output, outcome)


def run(*cases, ledger=None, **options):
    """Runs cases (names, globs, suites) and returns the Report of the run.

    Keyword arguments are options of `assay run`: `family="fwht"`, `policy="checked"`, `set=["a=1", "b=2"]`, `fail_fast=True`. With
    `ledger`, the run is added to that file; otherwise nothing of it is kept but the report.
    """
    return _record("run", cases, ledger, options)


def gate(ledger=None, **options):
    """The same for `assay gate`."""
    return _record("gate", (), ledger, options)
