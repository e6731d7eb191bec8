"""Fixture files: what is written, read and refused."""

import unittest

import assay
from helpers import ROOT, InFolder, needs


@needs("numpy", "h5py")
class Fixtures(InFolder):
    def write(self, tensors, path="captured.h5", **attributes):
        return assay.write_fixture(path, "fwht", tensors, **{"head_dim": 256, "num_heads": 1, "mode": 0, **attributes})

    def test_are_valid_for_the_command(self):
        import numpy

        path = self.write({"data": numpy.arange(256, dtype="f4").reshape(1, 256)}, source={"notes": numpy.array([1.5])})
        self.assertIn("valid", assay.call("fixture", "verify", path).output)
        report = assay.run(fixture=path, policy="checked")
        self.assertEqual((report.failures, report.document["cases"][0]["fixture"]), (0, "h5-captured"))

    def test_come_back(self):
        import numpy

        half = numpy.array([[1.5, -0.0, 65504, float("inf")]], dtype="f2")
        bfloat = assay.Bfloat([[1.0, 1.00390625, 3.0e38]])
        path = self.write({"data": half, "other": bfloat, "codes": numpy.array([1, 255], dtype="u1")}, mode=numpy.int64(2), scale=0.5)
        read = assay.read_fixture(path)
        self.assertEqual(read.attributes, {"family": "fwht", "head_dim": 256, "num_heads": 1, "mode": 2, "scale": 0.5})
        self.assertEqual(read.elements, {"data": "half", "other": "bfloat", "codes": "uint8"})
        self.assertEqual(read.inputs["data"].tobytes(), half.tobytes())
        self.assertEqual(read.inputs["other"].tolist(), bfloat.values.tolist())
        self.assertIsNone(read.expected)
        expected = numpy.array([1.0, 1 / 3])
        read = assay.read_fixture(self.write({"data": half}, expected=expected, bound=expected))
        self.assertEqual((read.expected.tolist(), read.bound.tolist()), ([1.0, 1 / 3],) * 2)

    def test_of_the_command_are_read(self):
        read = assay.read_fixture(next((ROOT / "fixtures/corpus").glob("fwht*.h5")))
        self.assertEqual(read.attributes["family"], "fwht")
        self.assertEqual(read.inputs["data"].shape, read.expected.shape)

    def test_round_bfloats_to_the_nearest_even(self):
        import numpy

        words = [0x3F800000, 0x3F808000, 0x3F808001, 0x3F818000, 0x7F7FFFFF, 0xFF800000, 0x7F800001, 0xFFFFFFFF, 0x80000001]
        rounded = [0x3F80, 0x3F80, 0x3F81, 0x3F82, 0x7F80, 0xFF80, 0x7FC0, 0xFFFF, 0x8000]
        self.assertEqual(assay.Bfloat(numpy.array(words, dtype="u4").view("f4")).bits.tolist(), rounded)

    def test_that_would_be_wrong_are_refused(self):
        import numpy

        data = numpy.zeros((1, 256), dtype="f4")
        self.write({"data": data})
        before = (self.folder / "captured.h5").read_bytes()
        for words, tensors, options in [
            ("type float64", {"data": data.astype("f8")}, {}),
            ("type int64", {"data": [1, 2]}, {}),
            ("no name of a tensor", {"../data": data}, {}),
            ("at least one tensor", {}, {}),
            ("belong together", {"data": data}, {"expected": data}),
            ("attribute 'mode'", {"data": data}, {"mode": [1]}),
            ("cannot be part of a case's name", {"data": data}, {"path": "two words.h5"}),
            ("cannot be part of a case's name", {"data": data}, {"path": "a\nb.h5"}),
            ("cannot be part of a case's name", {"data": data}, {"path": "captured"}),
        ]:
            with self.subTest(words), self.assertRaisesRegex(assay.FixtureError, words):
                self.write(tensors, **options)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["captured.h5"])
        self.assertEqual((self.folder / "captured.h5").read_bytes(), before)

    def test_of_another_kind_are_refused(self):
        import h5py

        with h5py.File("other.h5", "w") as file:
            file["inputs"] = 7
        with h5py.File("words.h5", "w") as file:
            file.create_group("format").attrs["version"] = 1
            file["inputs/data"] = [1, 2]
            file["inputs/data"].attrs["element"] = b"\xff"
            del file["inputs/data"]
            file.create_dataset("inputs/data", data=[1, 2], dtype="u2").attrs["element"] = "quarter"
        for path in ["other.h5", "words.h5"]:
            with self.subTest(path), self.assertRaises(assay.FixtureError):
                assay.read_fixture(path)


if __name__ == "__main__":
    unittest.main()
