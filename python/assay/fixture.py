"""Fixture files: numpy arrays to HDF5 and back. docs/FIXTURES.md describes the layout."""

import os
import pathlib
import re
import tempfile
from typing import NamedTuple

from assay.errors import FixtureError

_NAME = re.compile(r"[A-Za-z0-9._-]+\.h5")
_TENSOR = re.compile(r"[A-Za-z0-9_]+")


class Bfloat:
    """An array that a file stores as bfloat. Values are rounded to the nearest, ties to even; `values` has them as float32."""

    def __init__(self, values):
        import numpy

        words = numpy.ascontiguousarray(values, dtype="<f4").view("<u4")
        nan = (words & 0x7FFFFFFF) > 0x7F800000
        # In 64 bits, because the sum for a NaN may exceed 32. Of a NaN the sign and one quiet bit remain.
        rounded = (words.astype("<u8") + 0x7FFF + ((words >> 16) & 1)) >> 16
        self.bits = numpy.where(nan, (words >> 16) | 0x40, rounded).astype("<u2")

    @property
    def values(self):
        """The stored values."""
        return _widened(self.bits)


def _widened(bits):
    return (bits.astype("<u4") << 16).view("<f4")


class Fixture(NamedTuple):
    """What a fixture file holds. half arrays are float16, bfloat arrays float32; `elements` has the stored types by name."""

    attributes: dict
    inputs: dict
    expected: object = None
    bound: object = None
    elements: dict = {}


def _stored(name, tensor):
    """The array as the file holds it, and its attribute `element`."""
    import numpy

    if isinstance(tensor, Bfloat):
        return tensor.bits, "bfloat"
    array = numpy.asarray(tensor)
    if array.dtype == numpy.float16:
        return array.astype("<f2").view("<u2"), "half"
    if array.dtype in (numpy.uint8, numpy.float32):
        return array, None
    raise FixtureError(
        f"tensor {name!r} has elements of type {array.dtype}; a file holds uint8, float16, float32 and assay.Bfloat(array). "
        "Convert it, so that you see what is rounded"
    )


def _attribute(name, value):
    """An integer, a double or a text, as the layout has them."""
    import numpy

    if isinstance(value, (bool, numpy.bool_)):
        return int(value)
    if isinstance(value, (int, float, str, numpy.integer, numpy.floating)):
        return value
    raise FixtureError(f"attribute {name!r} is {value!r}; an attribute is a number or a text")


def _write(file, attributes, inputs, results, source):
    group = file.create_group("format")
    group.attrs["version"] = 1
    for name, value in attributes.items():
        group.attrs[name] = _attribute(name, value)
    for folder, tensors in (("inputs", inputs), *results, ("source", source)):
        for name, tensor in tensors.items():
            if not _TENSOR.fullmatch(name):
                raise FixtureError(f"{name!r} is no name of a tensor: letters, digits and _")
            array, element = _stored(name, tensor) if folder == "inputs" else (tensor, None)
            # An empty array has no chunks.
            packed = {"chunks": True, "shuffle": True, "compression": "gzip", "fletcher32": True} if array.size else {}
            data = file.create_dataset(f"{folder}/{name}", data=array, **packed)
            if element is not None:
                data.attrs["element"] = element


def write_fixture(path, family, inputs, *, case=None, expected=None, bound=None, source=None, **attributes):
    """Writes a fixture file, and replaces an old one only when the new one is complete.

    `inputs` has the tensors by name. `attributes` are the axes of the family, as a capture has them (`head_dim=256`); a file of a
    generated case has `case` instead. `expected` and `bound` are the exact results and the largest errors that a correct kernel may have:
    leave both out of a capture. Arrays of `source` are for you; assay does not read them. `assay fixture verify FILE` checks the rest.
    """
    import h5py
    import numpy

    path = pathlib.Path(os.fspath(path))
    if not _NAME.fullmatch(path.name):
        raise FixtureError(f"{path.name!r} cannot be part of a case's name: letters, digits, '.', '_' and '-', then '.h5'")
    if not inputs:
        raise FixtureError("a fixture file has at least one tensor")
    if (expected is None) != (bound is None):
        raise FixtureError("expected and bound belong together: a file has both or neither")
    named = {"family": family, **({"case": case} if case is not None else {}), **attributes}
    results = [
        (folder, {"output": numpy.asarray(values, dtype="<f8")})
        for folder, values in (("expected", expected), ("bound", bound))
        if values is not None
    ]
    own = {name: numpy.asarray(array) for name, array in (source or {}).items()}
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".assay-") as folder:
        draft = pathlib.Path(folder) / path.name
        with h5py.File(draft, "w", libver="latest") as file:
            _write(file, named, inputs, results, own)
        os.replace(draft, path)
    return path


def _array(data, place):
    """The values of a dataset, and the type as which the file stores them."""
    import h5py

    if not isinstance(data, h5py.Dataset):
        raise FixtureError(f"{place} is no array")
    values = data[()]
    element = data.attrs.get("element")
    element = element.decode("utf-8", "backslashreplace") if isinstance(element, bytes) else element
    if values.dtype.kind != "u" or values.dtype.itemsize != 2:
        return values, str(values.dtype.newbyteorder("="))
    bits = values.astype("<u2")
    if element == "half":
        return bits.view("<f2"), "half"
    if element == "bfloat":
        return _widened(bits), "bfloat"
    raise FixtureError(f"{place} has 16-bit elements of an unknown type {element!r}")


def read_fixture(path):
    """Reads a fixture file. Only for files that you trust: HDF5 crashes on some damaged ones. `assay fixture info` survives them."""
    import h5py

    with h5py.File(path, "r") as file:
        try:
            header = dict(file["format"].attrs)
            tensors = {name: _array(data, f"inputs/{name}") for name, data in file["inputs"].items()}
            results = [_array(file[folder]["output"], folder)[0] if folder in file else None for folder in ("expected", "bound")]
        except (KeyError, AttributeError) as error:
            raise FixtureError(f"{path} is no fixture file: {error}") from None
    if header.pop("version", None) != 1:
        raise FixtureError(f"{path} is no fixture file of version 1")
    attributes = {name: value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value for name, value in header.items()}
    return Fixture(
        {name: value.item() if hasattr(value, "item") else value for name, value in attributes.items()},
        {name: values for name, (values, _) in tensors.items()},
        *results,
        {name: element for name, (_, element) in tensors.items()},
    )
