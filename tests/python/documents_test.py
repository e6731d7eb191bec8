"""docs/PYTHON.md and the notebook do what they say, and pip installs the package."""

import doctest
import os
import re
import shutil
import subprocess
import sys
import unittest

from helpers import ROOT, InFolder, needs


class Documents(InFolder):
    @needs("pandas", "h5py")
    def test_the_page_is_what_happens(self):
        blocks = re.findall(r"^```pycon\n(.*?)^```$", (ROOT / "docs/PYTHON.md").read_text(), re.MULTILINE | re.DOTALL)
        examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/PYTHON.md", None, 0)
        self.assertGreaterEqual(len(examples.examples), 20)
        complaints = []
        outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=complaints.append)
        self.assertEqual(outcome.failed, 0, "".join(complaints))

    @needs("pandas", "h5py")
    def test_the_notebook_runs(self):
        notebook = ROOT / "docs/examples/notebook.py"
        self.assertGreaterEqual(len(re.findall(r"^# %%$", notebook.read_text(), re.MULTILINE)), 4)
        ended = subprocess.run([sys.executable, notebook], capture_output=True, encoding="utf-8", check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for words in ["100 cases, 0 failed, executed on the simulator", "cancel      11  0.213", "h5-captured/s0 passed", "2         1 native"]:
            self.assertIn(words, ended.stdout)


class Installation(InFolder):
    @needs("pip", "setuptools", "wheel")
    def test_by_pip_from_a_folder(self):
        # pip builds inside the folder.
        shutil.copytree(ROOT / "python", "checkout/python")
        shutil.copy(ROOT / "CMakeLists.txt", "checkout")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--target", "there"]
        subprocess.run([*command, "./checkout/python"], check=True, capture_output=True)
        question = "import assay, importlib.metadata; print(assay.__file__, importlib.metadata.version('assay'))"
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "there")}
        answer = subprocess.check_output([sys.executable, "-c", question], env=environment, encoding="utf-8").split()
        version = re.search(r"^project\(assay VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        self.assertEqual(answer, [str(self.folder / "there/assay/__init__.py"), version])

    def test_brings_in_nothing_that_is_optional(self):
        # Of pandas, numpy and h5py, each is imported where it is used.
        question = "import sys, assay; print(sorted({'pandas', 'numpy', 'h5py'} & set(sys.modules)))"
        self.assertEqual(subprocess.check_output([sys.executable, "-c", question], encoding="utf-8").strip(), "[]")


if __name__ == "__main__":
    unittest.main()
