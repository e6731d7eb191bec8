// The data of the report and the formats of its figures. The other scripts of the page add themselves to `assay`.
"use strict";
const assay = (() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("run-data");
  const { words, cases } = data;
  const count = cases.name.length;

  // JSON has no word for what is not finite (reports/page_data.h).
  const number = (value) =>
    value === null || value === undefined ? NaN : value === "inf" ? Infinity : value === "-inf" ? -Infinity : value;
  const ratio = Float64Array.from(cases.ratio, number);
  const sharpness = Float64Array.from(cases.sharpness, number);

  const word = (column) => (i) => words[column[i]];
  const of = {
    name: (i) => cases.name[i],
    variant: word(cases.variant),
    family: word(cases.family),
    fixture: word(cases.fixture),
    status: word(cases.status),
    reason: word(cases.reason),
    note: word(cases.note),
    ratio: (i) => ratio[i],
    sharpness: (i) => sharpness[i],
    compared: (i) => cases.compared[i],
    faulty: (i) => cases.faulty[i],
    seconds: (i) => cases.seconds[i],
    // Of the element with the largest error / bound.
    expected: (i) => number(cases.expected[i]),
    error: (i) => number(cases.error[i]),
    replay: (i) => `assay run ${cases.name[i]}${words[cases.replay[i]]}`,
  };

  // Place of each case among those of its family, by which the columns of axes go.
  const placeInFamily = new Uint32Array(count);
  const seen = new Map();
  for (let i = 0; i < count; ++i) {
    const next = seen.get(cases.family[i]) || 0;
    placeInFamily[i] = next;
    seen.set(cases.family[i], next + 1);
  }
  const axisNames = (family) => Object.keys(data.axes[family] || {});
  const axis = (i, name) => (data.axes[of.family(i)][name] || [])[placeInFamily[i]];

  const kQuiet = new Set(["passed", "known", "skipped", "not required"]);
  const fails = (status) => !kQuiet.has(status);
  // A wrong output that is no failure.
  const isExpected = (status) => status === "known" || status === "not required";

  const parts = new Map();
  const kDetailsPerPart = 256; // reports/page_data.h
  const details = (i) => {
    const part = Math.floor(i / kDetailsPerPart);
    if (!parts.has(part)) parts.set(part, read(`details-${part}`));
    return parts.get(part)[i % kDetailsPerPart];
  };

  const all = Array.from({ length: count }, (_, i) => i);
  // Values of a column in the order of their first cases.
  const distinct = (value, indices = all) => [...new Set(indices.map(value))];

  const format = (value, digits = 3) => {
    if (Number.isNaN(value)) return "\u2013";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3)
      return value
        .toExponential(Math.max(digits - 2, 0))
        .replace("e+", "e")
        .replace(".0e", "e");
    return String(Number(value.toPrecision(digits)));
  };
  // A ratio that is above 1 must not read as 1.
  const formatRatio = (value) => (value > 1 && value < 1.001 ? "1.001" : format(value));
  const grouped = (value) => Math.round(value).toLocaleString("en-US");
  const plural = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
  const spelt = (key) => key.replaceAll("_", " ").replace("simdgroup", "SIMD-group").replace("bfloat", "bfloat16");

  // Characters that a reader cannot see, or that turn around those beside them, as what they are: texts come from anybody.
  const kUnseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
  const visible = (text) => text.replace(kUnseen, (c) => `\u27e8U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);

  // An element; children that are strings become text and never markup.
  const element = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(
      ...children
        .flat()
        .filter((child) => child !== null && child !== undefined)
        .map((child) => (child instanceof Node ? child : visible(String(child)))),
    );
    return node;
  };
  const byId = (id) => document.getElementById(id);

  const chip = (status) => element("span", { class: `status ${fails(status) ? "fails" : status.replace(" ", "-")}` }, status);
  const caseAddress = (i) => `#case=${encodeURIComponent(of.name(i))}`;
  const caseLink = (i) => element("a", { href: caseAddress(i), class: "mono" }, of.name(i));

  const selectText = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  const copyLine = (text) => {
    const code = element("code", {}, text);
    const copy = async (event) => {
      selectText(code);
      try {
        await navigator.clipboard.writeText(text);
        event.target.textContent = "Copied";
      } catch {
        event.target.textContent = "Selected"; // a page from a file may not be allowed to write the clipboard
      }
    };
    return element(
      "div",
      { class: "replay" },
      code,
      element("button", { type: "button", "aria-label": "Copy the line that repeats this case", onclick: copy }, "Copy"),
    );
  };
  const replayLine = (i) => copyLine(of.replay(i));

  // `rows`: arrays of cells; the first of each is its header. Columns of numbers, written out already or not, stand to the right.
  const fillTable = (table, caption, head, rows) => {
    const isNumber = (cell) => typeof cell === "number" || (typeof cell === "string" && /^-?[\d.,]+(e-?\d+)?$|^-?inf$|^\u2013$|^[\d.e-]+ times$/.test(cell));
    const areNumbers = head.map(
      (_, column) =>
        rows.length > 0 &&
        rows.some((row) => isNumber(row[column])) &&
        rows.every((row) => isNumber(row[column]) || /^(never written|NaN)$/.test(row[column])),
    );
    const className = (column) => (areNumbers[column] ? "number" : undefined);
    const text = (cell) => (typeof cell === "number" ? format(cell, 4) : cell);
    table.replaceChildren(
      element("caption", {}, caption),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          head.map((cell, c) => element("th", { scope: "col", class: className(c) }, cell)),
        ),
      ),
      element(
        "tbody",
        {},
        rows.map((row) =>
          element(
            "tr",
            {},
            row.map((cell, c) =>
              c === 0
                ? element("th", { scope: "row", class: className(c) }, text(cell))
                : element("td", { class: className(c) }, text(cell)),
            ),
          ),
        ),
      ),
    );
  };

  // On a phone the rows of some tables are stacked, and every figure says what it is (page.css).
  const labelCells = (table) => {
    const head = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, c) => cell.setAttribute("data-label", head[c]));
  };

  // `choices`: [value, text] pairs.
  const fillSelect = (select, choices, chosen) => {
    select.replaceChildren(...choices.map(([value, text]) => element("option", { value, selected: value === chosen }, text)));
    if (chosen !== undefined) select.value = chosen;
  };

  return {
    data,
    count,
    all,
    of,
    axis,
    axisNames,
    fails,
    isExpected,
    details,
    distinct,
    number,
    format,
    formatRatio,
    grouped,
    plural,
    spelt,
    visible,
    element,
    byId,
    chip,
    caseAddress,
    caseLink,
    copyLine,
    replayLine,
    fillTable,
    labelCells,
    fillSelect,
  };
})();
