#!/usr/bin/env python3
"""Writes swizzles_2.inc, swizzles_3.inc and swizzles_4.inc: every swizzle of a vector of 2, 3 and 4 components.

A line names the components in both of Metal's alphabets and by index. A swizzle that names a component twice cannot be
assigned to. Run it in this folder; the results are committed, for a build needs no Python.
"""

import itertools
import pathlib

for size in (2, 3, 4):
    lines = [f"// Swizzles of {size}-component vectors. Written by generate_swizzles.py: do not edit."]
    for length in (2, 3, 4):
        for picks in itertools.product(range(size), repeat=length):
            xyzw = "".join("xyzw"[i] for i in picks)
            rgba = "".join("rgba"[i] for i in picks)
            indices = ", ".join(str(i) for i in picks)
            writable = "" if len(set(picks)) == length else "_READ"
            lines.append(f"ASSAY_SWIZZLE{length}{writable}({xyzw}, {rgba}, {indices})")
    pathlib.Path(f"swizzles_{size}.inc").write_text("\n".join(lines) + "\n")
