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
            check("nothing hostile ran", page.evaluate("window.hacked === undefined"))
            check("no errors in the console", page.complaints, [])
            check("no network", [url for url in page.requests if not url.startswith(("file:", "data:", "about:"))], [])
        finally:
            page.close()
    print(f"{failures} failed" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
