"""Opens the HTML report in chromium: report_test.py PAGES [FOLDER], where PAGES is the program that writes a page of made-up cases.

Exit status 0 passed, 1 failed, 77 no chromium. Screenshots are left in FOLDER if one is given.
"""
import os
import subprocess
import sys
import tempfile
import time

from devtools import Page, find_chromium

CASES = 30_000
SECONDS = 2.0  # until so many are there to be read, on a machine that is as calm as it was when CALM was taken
# What a loop takes in the same browser, in ms, on two idle cores of a Xeon at 2 GHz. Where it takes longer, the page may as well.
LOOP = "(() => { const start = performance.now(); let sum = 0; for (let i = 0; i < 3e7; ++i) sum += Math.sqrt(i); return performance.now() - start + 0 * sum; })()"
CALM = 82.0
SKIPPED = 77

failures = 0


def looks(page, file):
    """Opens the file in each scheme and width, and gives these and the script of checks."""
    with open(os.path.join(os.path.dirname(__file__), "page_checks.js"), encoding="utf-8") as stream:
        checks = stream.read()
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            page.look(scheme, width)
            page.open(file)
            yield scheme, width, checks


def check(what, found, wanted=True):
    global failures
    if found != wanted:
        failures += 1
        print(f"FAILED {what}: {found!r}, wanted {wanted!r}")
    else:
        print(f"ok     {what}")


def shown(page):
    """How many cases the table says that it shows."""
    return int(page.evaluate("document.getElementById('case-count').textContent.split(' ')[0].replaceAll(',', '')"))


def set_filter(page, control, value):
    page.evaluate(f"(() => {{ const c = document.getElementById('{control}'); c.value = {value!r}; c.dispatchEvent(new Event('input', {{bubbles: true}})); }})()")
    time.sleep(0.2)  # typing is waited for


def check_speed(page, file):
    times, allowed = [], []
    for _ in range(3):
        page.open(file)
        times.append(page.evaluate("performance.getEntriesByName('assay-ready')[0].startTime") / 1000)
        allowed.append(SECONDS * max(1.0, page.evaluate(LOOP) / CALM))
    size = os.path.getsize(file) / 1e6
    print(f"       {CASES} cases ({size:.1f} MB) are there after {', '.join(f'{t:.2f}' for t in times)} s, of {', '.join(f'{t:.2f}' for t in allowed)} that this machine has now")
    check(f"{CASES} cases open in less than {SECONDS} s", any(t < most for t, most in zip(times, allowed)))
    check("rows exist for what is seen only", page.evaluate("document.querySelectorAll('#case-body tr').length") < 100)


def check_filters(page):
    count = page.evaluate
    check("all cases are shown", shown(page), CASES)
    set_filter(page, "filter-text", "tq4_v1 nwg16")
    check("every word is searched for", shown(page), count("assay.all.filter((i) => /tq4_v1/.test(assay.of.name(i)) && /nwg16/.test(assay.of.name(i))).length"))
    set_filter(page, "filter-text", "TQHB*/nsg4/*heavy")
    check("globs match, in any case", shown(page), count("assay.all.filter((i) => /tqhb.*\\/nsg4\\/.*heavy/.test(assay.of.name(i))).length"))
    set_filter(page, "filter-text", "no case has this")
    check("nothing is found where there is nothing", shown(page), 0)
    check("and that is said", "No case" in count("document.getElementById('case-body').textContent"))
    count("document.getElementById('filter-reset').click()")
    check("reset shows all again", shown(page), CASES)
    set_filter(page, "filter-status", "failed")
    check("by verdict", shown(page), count("assay.all.filter((i) => assay.of.status(i) === 'failed').length"))
    set_filter(page, "filter-family", "tqhb")
    set_filter(page, "filter-ratio", "100")
    check("filters join", shown(page), count("assay.all.filter((i) => assay.of.status(i) === 'failed' && assay.of.family(i) === 'tqhb' && assay.of.ratio(i) >= 100).length"))
    count("document.querySelector('#heat-table button.above').click()")
    check("a cell of the heat map shows its cases", str(shown(page)) in count("document.querySelector('#heat-table button.above').getAttribute('aria-label')"))
    count("document.querySelector('.finding button').click()")
    check("a finding shows its cases", shown(page), count("assay.data.findings[0].members.length"))
    count("document.getElementById('filter-reset').click()")
    count("document.querySelector('#case-head .column-ratio button').click()")
    check("sorting puts the largest first, and infinity is largest", count("assay.of.ratio(assay.filter.shown()[0]) === Infinity"))
    count("document.querySelector('#case-head .column-ratio button').click()")
    check("and turns around", count("assay.of.ratio(assay.filter.shown()[0]) === 0"))


def check_keyboard(page):
    page.evaluate("document.getElementById('filter-reset').click(); document.getElementById('case-scroll').focus()")
    for _ in range(3):
        page.press("ArrowDown", 40)
    check("arrow keys move among rows", page.evaluate("document.activeElement.closest('tr')?.dataset.place"), "2")
    page.press("End", 35)
    check("End goes to the last", page.evaluate("document.activeElement.closest('tr')?.dataset.place"), str(CASES - 1))
    name = page.evaluate("document.activeElement.textContent")
    page.press("Enter", 13, "\r")
    page.wait_for("document.getElementById('case-dialog').open")
    check("Enter opens a case", page.evaluate("document.getElementById('case-title').textContent"), name)
    page.press("Escape", 27)
    # The event that clears the address comes after the dialog is closed.
    page.wait_for("!document.getElementById('case-dialog').open && location.hash === ''")
    check("Escape closes it", page.evaluate("location.hash"), "")
    unseen = []
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    for _ in range(40):
        page.press("Tab", 9)
        seen = page.evaluate("(() => { const s = getComputedStyle(document.activeElement); return document.activeElement === document.body || (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2); })()")
        if not seen:
            unseen.append(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
    check("the focus is always seen", unseen, [])


def check_case(page, file):
    i = page.evaluate("assay.all.find((i) => assay.of.status(i) === 'failed' && assay.details(i).worst)")
    name = page.evaluate(f"assay.of.name({i})")
    page.open(file, page.evaluate(f"assay.caseAddress({i})"))
    check("a case has an address", page.evaluate("document.getElementById('case-dialog').open && document.getElementById('case-title').textContent"), name)
    check("its replay line", page.evaluate("document.querySelector('#case-content .replay code').textContent"), f"assay run {name}")
    check("its worst elements", page.evaluate("document.querySelectorAll('#case-content tbody tr').length"), 8)
    page.evaluate("document.getElementById('case-close').click()")
    page.evaluate("location.hash = '#case=nonsense%'")
    page.wait_for("document.getElementById('case-title').textContent === 'No such case'")
    page.evaluate("location.hash = assay.caseAddress(17)")
    page.wait_for("document.getElementById('case-title').textContent.includes('<script>')")
    check("a hostile name is text", page.evaluate("document.querySelectorAll('#case-dialog img, #case-dialog script').length"), 0)
    page.evaluate("document.getElementById('case-close').click()")


def check_causes(page):
    """What triage found: with the group, and with each case."""
    listing = "[...document.querySelectorAll('#finding-list .cause .listing')]"
    check("a group has its causes", page.evaluate("document.querySelectorAll('#finding-list .cause').length") > 0)
    check("the cause is named", "Cause: oldest-key-lost" in page.evaluate("document.querySelector('#finding-list .cause h4').textContent"))
    check("the line is marked", page.evaluate(f"{listing}[0].querySelector('.marked').textContent.startsWith('>  118')"))
    check("the repair is a diff", page.evaluate(f"[{listing}[1].querySelectorAll('.removed').length, {listing}[1].querySelectorAll('.added').length]"), [2, 2])
    check("a cause is shown once", page.evaluate("document.querySelectorAll('#finding-list div.cause').length"), 2)
    check("and named again", "(shown above)" in page.evaluate("document.querySelector('#finding-list p.cause').textContent"))
    check("a hostile source is text", page.evaluate("document.querySelectorAll('#finding-list img, #finding-list script').length"), 0)
    i = page.evaluate("assay.data.cause_of.lastIndexOf(1)")
    page.evaluate(f"location.hash = assay.caseAddress({i})")
    page.wait_for("document.getElementById('case-dialog').open")
    check("a case has its cause", "<script>" in page.evaluate("document.querySelector('#case-content .cause .listing').textContent"))
    page.evaluate("document.getElementById('case-close').click()")
    check("similar remarks are one", "(6 times in 2 cases)" in page.evaluate("document.getElementById('finding-list').textContent"))


def check_interrupted(page, file, folder):
    """A run that was stopped, of a variant that mostly writes nothing: none of it may look right."""
    text = "document.getElementById('{}').textContent"
    page.look()
    page.open(file)
    says = "80 of 103 cases failed, 97 of the 200 selected have no verdict"
    check("the headline tells what is missing", page.evaluate(text.format("headline")), f"Run 42: {says}")
    check("the title too", page.evaluate("document.title"), f"assay: run 42, {says}")
    check("the findings too", "97 of the 200 selected cases have no verdict" in page.evaluate(text.format("finding-list")))
    check("what is not finite is counted", page.evaluate(text.format("spread-note")).startswith("79 of 102 cases not finite"))
    check("what was not compared as well", "2 cases that did not pass and had nothing compared (other 2)" in page.evaluate(text.format("spread-note")))
    row = "[...document.querySelectorAll('#spread-table tbody tr')].find((row) => row.cells[0].textContent === 'reduce')"
    check("the table has it in its figures", page.evaluate(f"[...{row}.cells].slice(1).map((cell) => cell.textContent)"), ["100", "0.19", "inf", "inf", "inf", "inf", "79", "0"])
    chart = "Object.values(Chart.instances).find((chart) => chart.canvas.id === '{}')"
    check("a row says so", page.evaluate(f"{chart.format('spread-chart')}.data.labels[1]"), ["reduce", "79 of 100 not finite"])
    check("its box reaches the edge", page.evaluate(f"(() => {{ const c = {chart.format('spread-chart')}; return c.data.datasets.filter((d) => d.label !== 'not finite').every((d) => d.data[1][1] === c.scales.x.max); }})()"))
    check("in the failing colour", page.evaluate(f"{chart.format('spread-chart')}.data.datasets[0].backgroundColor === getComputedStyle(document.documentElement).getPropertyValue('--fail').trim()"))
    check("whose place is named", page.evaluate(f"{chart.format('spread-chart')}.scales.x.ticks.at(-1).label"), "inf")
    check("a bar of the histogram", page.evaluate(f"{chart.format('histogram-chart')}.data.datasets[0].data.at(-1)"), 79)
    check("and words above it", page.evaluate(text.format("histogram-note")).startswith("79 of 102 cases not finite"))
    check("a finding tells whose reason it gives", "in the smallest case, 256 never written" in page.evaluate("document.querySelectorAll('.finding h3')[1].textContent"))
    page.evaluate("location.hash = assay.caseAddress(3)")
    page.wait_for("document.getElementById('case-dialog').open")
    facts = page.evaluate("Object.fromEntries([...document.querySelectorAll('#case-content dt')].map((dt) => [dt.textContent, dt.nextSibling.textContent]))")
    check("seeds of 64 bits are whole", facts["seed"], "18446744073709551615")
    check("and values of axes", facts["large"], "9223372036854775807")
    check("elements are counted once", [facts[name] for name in ("elements compared", "of these faulty", "not written")], ["256", "256", "256"])
    check("an error of nothing is none", [facts[name] for name in ("nmse", "cosine", "max abs error")], ["\u2013"] * 3)
    for scheme, width, checks in looks(page, file):
        check(f"contrast and names, interrupted, {scheme}, {width} px", page.evaluate(checks), [])
        check(f"nothing sticks out, interrupted, {scheme}, {width} px", page.evaluate("document.documentElement.scrollWidth") <= width)
        if folder:
            page.screenshot(os.path.join(folder, f"interrupted_{scheme}_{width}.png"), whole=True)
        page.evaluate("location.hash = assay.caseAddress(3)")
        page.wait_for("document.getElementById('case-dialog').open")
        check(f"worst elements are not cut, {scheme}, {width} px", page.evaluate("(() => { const box = document.querySelector('.worst'); return box.scrollWidth <= box.clientWidth; })()"))
        check(f"contrast and names of a case, interrupted, {scheme}, {width} px", page.evaluate(checks), [])
        if folder:
            page.screenshot(os.path.join(folder, f"interrupted_{scheme}_{width}_case.png"))


def select(page, control, value):
    page.evaluate(f"(() => {{ const c = document.getElementById('{control}'); c.value = {value!r}; c.dispatchEvent(new Event('change')); }})()")


def check_heat_map(page):
    """The pair that decides which cases fail, though neither of its axes tells anything alone."""
    chosen = "[document.getElementById('heat-rows').value, document.getElementById('heat-columns').value].sort()"
    says = "document.getElementById('heat-choice').textContent"
    check("the heat map has the axes that decide", page.evaluate(chosen), ["a", "b"])
    check("and says so", page.evaluate(says).startswith("These two axes together remove 9"))
    select(page, "heat-columns", "c")
    check("others can be chosen", "a and b remove 9" in page.evaluate(says) and page.evaluate(chosen) == ["a", "c"] or page.evaluate(chosen) == ["b", "c"])
    every = "[...document.querySelectorAll('#heat-table button')].every((b) => b.className === 'above' && {})"
    check("where every cell has failures, each says its share", page.evaluate(every.format("/^\u00d7 .*, 50 % failed$/.test(b.textContent)")))
    check("and has the colour of that share", page.evaluate(every.format("/^rgb/.test(b.style.backgroundColor)")))
    page.evaluate("document.querySelector('#heat-choice button').click()")
    check("and the first two again", page.evaluate(chosen), ["a", "b"])
    check("a cell with failures says so in words", page.evaluate("[...document.querySelectorAll('#heat-table .above')].every((b) => /16 failed/.test(b.ariaLabel) && b.textContent.startsWith('\u00d7'))"))
    check("and no other has a mark", page.evaluate("[...document.querySelectorAll('#heat-table button:not(.above)')].every((b) => !/failed|\u00d7/.test(b.ariaLabel + b.textContent))"))
    select(page, "heat-measure", "failures")
    check("also as a share", page.evaluate("document.querySelectorAll('#heat-table .above').length"), 8)
    select(page, "heat-measure", "ratio")


def check_scatter(page):
    page.evaluate("document.getElementById('scatter').scrollIntoView({behavior: 'instant'})")
    page.wait_for("assay.scatter.points().length > 0")
    check("every case is a point, or in one", page.evaluate("assay.scatter.points().reduce((sum, p) => sum + p.count, 0)"), 256)
    chart = "Object.values(Chart.instances).find((chart) => chart.canvas.id === 'scatter-chart')"
    shapes = page.evaluate(f"{chart}.data.datasets.map((d) => [d.label, d.pointStyle])")
    check("failures have a shape of their own", [shapes[0], len({shape for _, shape in shapes})], [["failed", "crossRot"], 3])
    check("higher is more", page.evaluate("(() => { const p = assay.scatter.points().filter((p) => assay.of.expected(p.i) > 0.5).sort((a, b) => assay.of.error(a.i) - assay.of.error(b.i)); return p[0].y < p.at(-1).y && p.every((q, k) => k === 0 || p[k - 1].y <= q.y); })()"))
    check("failures are above their bounds", page.evaluate("assay.scatter.points().every((p) => assay.fails(assay.of.status(p.i)) === p.y > p.bound || Number.isNaN(p.bound))"))
    select(page, "scatter-measure", "ratio")
    check("and above 1", page.evaluate("assay.scatter.points().every((p) => assay.fails(assay.of.status(p.i)) === p.y > p.bound)"))
    page.evaluate("document.getElementById('scatter-box').focus()")
    for _ in range(3):
        page.press("ArrowRight", 39)
    said = page.evaluate("document.getElementById('scatter-point').textContent")
    check("arrow keys move among points", said.startswith("Point 3 of ") and "expected" in said)
    page.press("Enter", 13, "\r")
    page.wait_for("document.getElementById('case-dialog').open")
    check("Enter opens the case of the point", page.evaluate("document.getElementById('case-title').textContent") in said)
    page.press("Escape", 27)
    page.wait_for("!document.getElementById('case-dialog').open")
    page.evaluate("document.getElementById('scatter-details').open = true")
    page.wait_for("document.querySelectorAll('#scatter-table tbody tr').length > 0")
    check("the table has failures first", page.evaluate("[...document.querySelectorAll('#scatter-table tbody tr')].slice(0, 128).every((row) => /failed|hazard/.test(row.cells[1].textContent))"))


def check_sources(page):
    listing = "document.querySelector('#finding-list .finding .listing')"
    check("a hazard has its lines", page.evaluate(f"{listing}.textContent.split('\\n').filter(Boolean).length"), 7)
    check("the line is marked, here too", page.evaluate(f"{listing}.querySelectorAll('.marked').length === 1 && {listing}.querySelector('.marked').textContent.startsWith('>  120 | wild')"))
    check("what cannot be seen is written out", page.evaluate(f"/\u27e8U\\+001B\u27e9.*\u27e8U\\+202E\u27e9.*<img src=x/.test({listing}.textContent)"))
    i = page.evaluate("assay.all.find((i) => assay.of.status(i) === 'hazard')")
    page.evaluate(f"location.hash = assay.caseAddress({i})")
    page.wait_for("document.getElementById('case-dialog').open")
    places = "[...document.querySelectorAll('#case-content .place')].map((p) => p.textContent)"
    check("both places of a hazard are named", page.evaluate(places), ["kernel.metal:120", "kernel.metal:300"])
    page.evaluate("document.getElementById('case-close').click()")


def check_past(page):
    i = page.evaluate("assay.all.find((i) => assay.of.status(i) === 'failed')")
    page.evaluate(f"location.hash = assay.caseAddress({i})")
    page.wait_for("document.getElementById('case-dialog').open")
    text = page.evaluate("document.getElementById('case-content').textContent")
    check("the past is told in a sentence", "It failed in 2 of 13 runs: in all from run 41 on." in text)
    check("and drawn, a mark per run", page.evaluate("[document.querySelectorAll('#case-content .plot .mark-passes').length, document.querySelectorAll('#case-content .plot .mark-fails').length]"), [11, 2])
    rows = page.evaluate("[...[...document.querySelectorAll('#case-content table')].find((t) => /at most 50/.test(t.caption.textContent)).tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))")
    check("and a table", [rows[0][0], rows[0][2], rows[1][0], rows[1][4], rows[2][2], len(rows)], ["42 (this)", "failed", "41", "other bits", "passed", 13])
    check("with what differs", "compiler" in rows[-1][5] and rows[1][5] == "nothing")
    check("and the run that it is compared with", "In run 41 of other.sqlitepassed error / bound 0.5, now 50" in text)
    page.evaluate("location.hash = assay.caseAddress(5)")
    page.wait_for("document.getElementById('case-title').textContent.includes('/a1/b1/c0/')")
    check("no past is said too", "No earlier run of this ledger has this case." in page.evaluate("document.getElementById('case-content').textContent"))
    page.evaluate("document.getElementById('case-close').click()")


def check_against(page):
    heads = page.evaluate("[...document.querySelectorAll('#against h3')].map((h) => h.textContent)")
    check("the comparison has both runs and every kind", heads, ["Before: run 41", "Now: run 42", "96 broke", "1 healed", "51 other error", "1 other bits"])
    summary = page.evaluate("document.querySelector('#against-content p').textContent")
    check("its summary is first", summary.startswith("255 cases in both: 96 broke, 1 healed, 0 changed otherwise, 51 drifted"))
    row = page.evaluate("[...document.querySelector('#against table tbody tr').cells].slice(1).map((c) => c.textContent)")
    check("a case has both verdicts and figures", row, ["passed", "failed", "0.5", "50", "100 times", ""])
    page.evaluate("document.querySelector('#against button').click()")
    check("and is found in the table of cases", shown(page), 96)
    page.evaluate("document.getElementById('filter-reset').click()")
    check("a hostile run to compare with is text", page.evaluate("document.querySelectorAll('#against img, #against script').length"), 0)


# What is read aloud: roles and names, as the browser gives them to a screen reader.
def check_accessibility(page):
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    found = [(node.get("role", {}).get("value"), node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")]
    unnamed = [role for role, name in found if role in ("button", "link", "combobox", "searchbox", "image", "img", "dialog", "spinbutton") and not name.strip()]
    check("all that can be used has a name", unnamed, [])
    names = {role: {name for other, name in found if other == role} for role, _ in found}
    check("regions are named after their headings", {"Findings", "Error against magnitude", "Cases"} <= names.get("region", set()))
    check("points can be reached by name", any("arrow keys move" in name for name in names.get("group", set())))
    check("a chart is described", any("of them failed; the table below" in name for name in names.get("image", set()) | names.get("img", set())))
    check("tables have headers", len([role for role, _ in found if role == "columnheader"]) > 20 and len([role for role, _ in found if role == "rowheader"]) > 20)


# Differences of colours as people see them who lack one kind of cone (Machado, Oliveira, Fernandes 2009), in CIELAB.
COLOURS = """(() => {
  const painter = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (text) => { painter.fillStyle = text; painter.fillRect(0, 0, 1, 1); return [...painter.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const kinds = {
    all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  };
  const lab = (colour, m) => {
    const l = colour.map(linear);
    const [r, g, b] = [0, 3, 6].map((k) => Math.max(m[k] * l[0] + m[k + 1] * l[1] + m[k + 2] * l[2], 0));
    const f = (t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
    const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089].map(f);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const others = ["--bar", "--pale-bar", "--pass", "--known", "--none", "--mark", "--page", "--accent"].map(ink);
  for (const cell of document.querySelectorAll("#heat-legend .swatch:not(.above), #heat-table button:not(.above)")) others.push(getComputedStyle(cell).backgroundColor);
  const near = [];
  for (const back of ["--fail", "--fail-stripe"]) {
    const [a, b] = ["--on-fail", back].map((name) => lab(rgb(ink(name)), kinds.all)[0]).map((l) => (l > 8 ? ((l + 16) / 116) ** 3 : l / 903.3));
    if (!((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) >= 4.5)) near.push(`text on ${back}`);
  }
  for (const [kind, m] of Object.entries(kinds))
    for (const other of new Set(others)) {
      const [a, b] = [lab(rgb(ink("--fail")), m), lab(rgb(other), m)];
      const distance = Math.hypot(...a.map((v, k) => v - b[k]));
      if (!(distance >= 25)) near.push(`${other} for ${kind}: ${distance.toFixed(1)}`);
    }
  return near;
})()"""


def check_decided(page, file, folder):
    page.look()
    page.open(file)
    check_heat_map(page)
    check_scatter(page)
    check_sources(page)
    check_past(page)
    check_against(page)
    check_accessibility(page)
    for scheme, width, checks in looks(page, file):
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; }); document.getElementById('scatter').scrollIntoView({behavior: 'instant'})")
        page.wait_for("assay.scatter.points().length > 0 && document.querySelectorAll('#scatter-table tbody tr').length > 0")
        check(f"contrast and names, decided, {scheme}, {width} px", page.evaluate(checks), [])
        check(f"nothing sticks out, decided, {scheme}, {width} px", page.evaluate("document.documentElement.scrollWidth") <= width)
        check(f"nothing looks like a failure, {scheme}, {width} px", page.evaluate(COLOURS), [])
        if folder:
            page.screenshot(os.path.join(folder, f"decided_{scheme}_{width}.png"), whole=True)
        page.evaluate("location.hash = assay.caseAddress(assay.data.findings[0].smallest)")
        page.wait_for("document.getElementById('case-dialog').open")
        page.evaluate("document.querySelectorAll('#case-content details').forEach((d) => { d.open = true; })")
        check(f"contrast and names of a case, decided, {scheme}, {width} px", page.evaluate(checks), [])
        if folder:
            page.screenshot(os.path.join(folder, f"decided_{scheme}_{width}_case.png"))


def check_looks(page, file, folder):
    for scheme, width, checks in looks(page, file):
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        time.sleep(0.3)
        check(f"contrast and names, {scheme}, {width} px", page.evaluate(checks), [])
        check(f"nothing sticks out, {scheme}, {width} px", page.evaluate("document.documentElement.scrollWidth") <= width)
        check(f"names have room, {scheme}, {width} px", page.evaluate("document.querySelector('#case-body td.column-name').clientWidth") > width * 0.4)
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = false; })")
        if folder:
            page.screenshot(os.path.join(folder, f"{scheme}_{width}.png"), whole=True)
        page.evaluate("location.hash = assay.caseAddress(assay.data.findings[0].smallest)")
        page.wait_for("document.getElementById('case-dialog').open")
        check(f"contrast and names of a case, {scheme}, {width} px", page.evaluate(checks), [])
        if folder:
            page.screenshot(os.path.join(folder, f"{scheme}_{width}_case.png"))


def main():
    chromium = find_chromium()
    if chromium is None:
        print("skipped: there is no chromium here (./assay install-deps --ci)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as temporary:
        file = os.path.join(temporary, "report.html")
        subprocess.run([sys.argv[1], file, str(CASES)], check=True)
        interrupted = os.path.join(temporary, "interrupted.html")
        subprocess.run([sys.argv[1], interrupted, "interrupted"], check=True)
        decided = os.path.join(temporary, "decided.html")
        subprocess.run([sys.argv[1], decided, "decided"], check=True)
        page = Page(chromium)
        try:
            page.look()
            check_speed(page, file)
            check_filters(page)
            check_keyboard(page)
            check_case(page, file)
            check_causes(page)
            check_looks(page, file, sys.argv[2] if len(sys.argv) > 2 else None)
            check_interrupted(page, interrupted, sys.argv[2] if len(sys.argv) > 2 else None)
            check_decided(page, decided, sys.argv[2] if len(sys.argv) > 2 else None)
            check("nothing hostile ran", page.evaluate("window.hacked === undefined"))
            check("no errors in the console", page.complaints, [])
            check("no network", [url for url in page.requests if not url.startswith(("file:", "data:", "about:"))], [])
        finally:
            page.close()
    print(f"{failures} failed" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
