// What triage found: class, evidence, smallest case, the source around the line, and the repair as a diff.
"use strict";
assay.causes = (() => {
  const { data, element, grouped, plural, copyLine } = assay;
  const all = data.causes || [];
  const kKinds = { "+": "added", "-": "removed", "@": "quiet", ">": "marked" };

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

  const view = (index) => {
    const cause = all[index];
    if (!cause) return null;
    const share = `${grouped(cause.cases)} of ${plural(cause.failing, "failing case")} ${cause.cases === 1 ? "has" : "have"} this cause; the smallest:`;
    return element(
      "div",
      { class: "cause" },
      element("h4", {}, `Cause: ${cause.text}`),
      cause.evidence.length === 0
        ? null
        : element(
            "ul",
            {},
            cause.evidence.map((sentence) => element("li", {}, sentence)),
          ),
      element("p", { class: "quiet" }, share),
      copyLine(cause.replay),
      cause.excerpt === "" ? null : element("p", {}, element("code", {}, cause.place), `: ${cause.why}`),
      cause.excerpt === "" ? null : listing(`Source around ${cause.place}`, cause.excerpt),
      cause.diff === "" ? null : element("p", {}, "Repaired by:"),
      cause.diff === "" ? null : listing("The repair as a diff", cause.diff),
    );
  };
  const ofCase = (i) => {
    const index = (data.cause_of || [])[i];
    return typeof index === "number" ? view(index) : null;
  };
  return { view, ofCase, any: all.length > 0 };
})();
