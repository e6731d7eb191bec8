// Lines of sources: those that the run recorded around the places of its cases, excerpts of triage, and diffs.
"use strict";
assay.sources = (() => {
  const { data, element } = assay;
  const recorded = data.sources || {};
  const kKinds = { "+": "added", "-": "removed", "@": "quiet", ">": "marked" };
  const kAround = 3; // harness/ledger/source_line_rows.cpp

  // One element per line, whose first character says what it is. Text nodes alone: a source may contain anything.
  const listing = (label, text) =>
    element(
      "pre",
      { class: "listing", tabindex: "0", role: "region", "aria-label": label },
      text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => element("span", { class: kKinds[line[0]] || "" }, `${line}\n`)),
    );

  // The lines around a place as triage writes them, "" if none are recorded.
  const excerpt = (file, line) => {
    const lines = Object.hasOwn(recorded, file) ? recorded[file] : {};
    const numbers = Array.from({ length: 2 * kAround + 1 }, (_, k) => line - kAround + k).filter((n) => Object.hasOwn(lines, n));
    if (!numbers.includes(line)) return "";
    const width = String(numbers.at(-1)).length + 1;
    return numbers.map((n) => `${n === line ? ">" : " "} ${String(n).padStart(width)} | ${lines[n]}`).join("\n");
  };
  const name = (file) => file.slice(file.lastIndexOf("/") + 1);

  // What is known of a place: its name, and the lines around it with it marked. [] without a place.
  const around = (place, title = "") => {
    if (!place) return [];
    const [file, line] = place;
    const text = excerpt(file, line);
    return [
      element("p", { class: "place" }, title, element("code", {}, `${file}:${line}`)),
      text === "" ? null : listing(`Source around line ${line} of ${name(file)}`, text),
    ];
  };
  return { listing, excerpt, around };
})();
