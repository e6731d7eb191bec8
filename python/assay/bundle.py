"""Bundles of `assay export`, and what a runner added to them: docs/BUNDLES.md.

`assay judge` decides whether outputs are right. This module only shows the bytes.
"""

import hashlib
import json
import os
import pathlib
import re
import stat

from assay.errors import BundleError

_FILES = re.compile(r"(sources/[0-9a-f]{64}\.metal|inputs/[0-9a-f]{64}\.bin|outputs/[0-9]+-[0-9]+\.bin)")
_LARGEST_DOCUMENT = 1 << 30
_LARGEST_BUFFER = 1 << 36


def _read(folder, name, size=None, limit=_LARGEST_BUFFER):
    """The bytes of a plain file of the bundle; neither a link nor a device. With `size`, it must have as many bytes."""
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise BundleError(f"{folder / name}: {error.strerror}") from None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BundleError(f"{folder / name} is no plain file")
        if size is not None and status.st_size != size:
            raise BundleError(f"{folder / name} has {status.st_size} bytes instead of {size}")
        if status.st_size > limit:
            raise BundleError(f"{folder / name} is too large: {status.st_size} bytes")
        return file.read()


def _document(folder, name, format_name):
    try:
        document = json.loads(_read(folder, name, limit=_LARGEST_DOCUMENT))
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{folder / name}: {error}") from None
    if not isinstance(document, dict) or document.get("format") != format_name or document.get("version") != 1:
        raise BundleError(f"{folder / name} is no {format_name} of version 1")
    if not isinstance(document.get("cases"), list):
        raise BundleError(f"{folder / name} has no list of cases")
    return document


def _contents(folder, name, size=None):
    """A file that is named by its contents, which it must have."""
    if not isinstance(name, str) or not _FILES.fullmatch(name):
        raise BundleError(f"{folder}: {name!r} is no file of a bundle")
    text = _read(folder, name, size)
    if hashlib.blake2b(b"%d:" % len(text) + text, digest_size=32).hexdigest() != pathlib.PurePath(name).stem:
        raise BundleError(f"{folder / name} has changed: its name is the hash of other contents")
    return text


class Buffer:
    """A buffer of a case: an argument of its kernels, in the pass of that number."""

    def __init__(self, folder, description, offset):
        self._folder = folder
        self.argument = description["argument"]
        self.role = description["role"]  # "input", "output" or "scratch"
        self.number = description["pass"]
        self.size = description["bytes"]  # with guard bands
        self.offset = offset  # of the argument in the buffer, behind its guard band; None if no kernel receives it
        self.returns = description["returns"]
        self._fill = description["fill"]
        self._regions = description["regions"]

    def initial(self, dtype="u1"):
        """The whole buffer, as it is before the first pass."""
        import numpy

        if not 0 <= self.size <= _LARGEST_BUFFER:
            raise BundleError(f"{self._folder}: buffer {self.argument!r} has {self.size} bytes")
        word = numpy.frombuffer(bytes.fromhex(self._fill), dtype="u1")
        if word.size != 4:
            raise BundleError(f"{self._folder}: {self._fill!r} is no word of 4 bytes")
        values = numpy.resize(word, self.size)
        for region in self._regions:
            at, count = region["at"], region["bytes"]
            if at < 0 or count < 0 or at + count > self.size:
                raise BundleError(f"{self._folder}: a region of buffer {self.argument!r} lies outside of it")
            piece = numpy.frombuffer(_contents(self._folder, region["file"], count), "u1") if "file" in region else region["byte"]
            values[at : at + count] = piece
        return values.view(dtype)

    def returned(self, dtype="u1"):
        """The whole buffer after the last pass; None if the runner wrote none, as for inputs that did not change."""
        import numpy

        if not _FILES.fullmatch(self.returns):
            raise BundleError(f"{self._folder}: {self.returns!r} is no file of a bundle")
        if not os.path.lexists(self._folder / self.returns):
            return None
        return numpy.frombuffer(_read(self._folder, self.returns, self.size), dtype)


class BundleCase:
    """A case of a bundle. `error` is what the device refused, as {"stage": ..., "text": ...}; None if nothing, or if it has not run."""

    def __init__(self, folder, description, result):
        self._folder = folder
        self.name = description["name"]
        self.id = description["id"]
        self.pipelines = description["pipelines"]
        self.passes = description["passes"]
        self.has_run = result is not None
        self.error = (result or {}).get("error")
        offsets = {}
        for call in (call for one in self.passes for call in one):
            if call["call"] == "set_buffer" and call["buffer"] is not None:
                offsets[call["buffer"]] = min(call["offset"], offsets.get(call["buffer"], call["offset"]))
        self.buffers = [Buffer(folder, one, offsets.get(number)) for number, one in enumerate(description["buffers"])]

    def source(self, pipeline=0):
        """The Metal source of a pipeline."""
        return _contents(self._folder, self.pipelines[pipeline]["source"]).decode("utf-8", "backslashreplace")

    def buffer(self, argument, number=0):
        """The buffer of an argument in a pass."""
        for one in self.buffers:
            if one.argument == argument and one.number == number:
                return one
        names = ", ".join(sorted({one.argument for one in self.buffers}))
        raise BundleError(f"{self.name} has no buffer {argument!r} in pass {number}; its arguments are {names}")


class Bundle:
    """A folder of `assay export`. `executed_on` names the device; None if no runner has executed the bundle."""

    def __init__(self, folder):
        self.folder = pathlib.Path(os.fspath(folder))
        manifest = _document(self.folder, "manifest.json", "assay-bundle")
        results = None
        if os.path.lexists(self.folder / "results.json"):
            results = _document(self.folder, "results.json", "assay-results")
        try:
            self.mathematics = manifest["math"]
            self.executed_on = results["executed_on"] if results else None
            returned = {(one["name"], one["id"]): one for one in results["cases"]} if results else {}
            self.cases = [BundleCase(self.folder, one, returned.get((one["name"], one["id"]))) for one in manifest["cases"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise BundleError(f"{self.folder}: manifest or results are incomplete: {error!r}") from None

    def case(self, name):
        """The case of that name."""
        for one in self.cases:
            if one.name == name:
                return one
        raise BundleError(f"{self.folder} has no case {name!r}")

    def frame(self):
        """A row for each buffer of each case."""
        import pandas

        columns = ["case", "argument", "role", "pass", "bytes", "has_run", "error"]
        rows = [
            (case.name, one.argument, one.role, one.number, one.size, case.has_run, (case.error or {}).get("text"))
            for case in self.cases
            for one in case.buffers
        ]
        return pandas.DataFrame.from_records(rows, columns=columns)
