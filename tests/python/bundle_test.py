"""Bundles: buffers before and after, and folders that somebody changed."""

import json
import os
import subprocess
import unittest

import assay
from helpers import InFolder, needs

CASE = "reduce_v1/d256/rows1/nwg1/faint/s740"


@needs("numpy")
class Bundles(InFolder):
    def setUp(self):
        super().setUp()
        assay.call("export", CASE, "-o", "bundle")

    def change(self, name, change):
        path = self.folder / "bundle" / name
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    def test_show_buffers_before_and_after(self):
        case = assay.Bundle("bundle").case(CASE)
        self.assertIn("kernel void", case.source())
        self.assertFalse(case.has_run)
        before, output = case.buffer("htmp"), case.buffer("dst")
        self.assertEqual((before.role, before.initial().size), ("input", before.size))
        self.assertIsNone(output.returned())
        subprocess.run([os.environ["ASSAY_MOCK_RUNNER"], "bundle"], check=True, capture_output=True)
        bundle = assay.Bundle("bundle")
        case = bundle.case(CASE)
        self.assertTrue(case.has_run and bundle.executed_on and case.error is None)
        initial, returned = case.buffer("dst").initial("<u4"), case.buffer("dst").returned("<u4")
        first = case.buffer("dst").offset // 4
        # The kernel wrote its 256 values and left the bands beside them.
        self.assertEqual((initial != returned).nonzero()[0].tolist(), list(range(first, first + 256)))
        self.assertIsNone(case.buffer("htmp").returned())
        self.assertIn("1 passed", assay.call("judge", "bundle").output)

    @needs("pandas")
    def test_are_a_frame(self):
        self.assertEqual(assay.Bundle("bundle").frame()["argument"].tolist(), ["htmp", "dst"])

    def test_that_were_changed_are_refused(self):
        piece = next((self.folder / "bundle/inputs").iterdir())
        contents = piece.read_bytes()

        def read():
            return assay.Bundle("bundle").cases[0].buffer("htmp").initial()

        read()
        for words, spoil in [
            ("has changed", lambda: piece.write_bytes(contents[::-1])),
            ("bytes instead of", lambda: piece.write_bytes(contents[:-1])),
            ("No such file", piece.unlink),
            ("symbolic links", lambda: piece.symlink_to("/etc/hostname")),
            ("is no file of a bundle", lambda: self.change("manifest.json", lambda d: d["cases"][0]["buffers"][0]["regions"][0].update(file="../x"))),
            ("outside of it", lambda: self.change("manifest.json", lambda d: d["cases"][0]["buffers"][0]["regions"][0].update(at=1 << 40))),
            ("buffer 'htmp' has", lambda: self.change("manifest.json", lambda d: d["cases"][0]["buffers"][0].update(bytes=1 << 60))),
            ("are incomplete", lambda: self.change("manifest.json", lambda d: d["cases"][0].pop("passes"))),
            ("is no assay-bundle", lambda: self.change("manifest.json", lambda d: d.update(version=2))),
            ("manifest.json", (self.folder / "bundle/manifest.json").unlink),
        ]:
            with self.subTest(words):
                spoil()
                with self.assertRaisesRegex(assay.BundleError, words):
                    read()

    def test_name_what_they_lack(self):
        bundle = assay.Bundle("bundle")
        with self.assertRaisesRegex(assay.BundleError, "no case 'x'"):
            bundle.case("x")
        with self.assertRaisesRegex(assay.BundleError, "its arguments are dst, htmp"):
            bundle.cases[0].buffer("x")


if __name__ == "__main__":
    unittest.main()
