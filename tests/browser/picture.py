"""Takes the picture of an HTML report for the documents: picture.py PAGE.html docs/report.png

The page: a copy of kernels/variants/tq4_v1/kernel.metal as mine/tq4.metal, in which the window begins one position late
(`window_start = n - params.sliding_window + 1`), and `assay run smoke --kernel mine/tq4.metal --family tq4 --triage --html PAGE.html`.
"""
import sys

from devtools import Page, find_chromium

page = Page(find_chromium())
try:
    page.look(width=1100, height=2250)
    page.open(sys.argv[1])
    page.screenshot(sys.argv[2])
finally:
    page.close()
