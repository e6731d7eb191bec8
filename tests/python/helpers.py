"""What the tests of the Python package share."""

import os
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def needs(*modules):
    """Skips a test where optional packages are missing (Debian: python3-pandas, python3-h5py)."""
    import importlib.util

    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class InFolder(unittest.TestCase):
    """Each test has an empty folder, which is the current one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-python-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.folder = pathlib.Path(folder.name)
