// What triage found: class, evidence, smallest case, the source around the line, and the repair as a diff.
"use strict";
assay.causes = (() => {
  const { data, element, grouped, plural, copyLine } = assay;
  const all = data.causes || [];
  const { listing } = assay.sources;

  const view = (index) => {
    const cause = all[index];
    if (!cause) return null;
    const verb = cause.diff === "" ? (cause.cases === 1 ? "fails in this way" : "fail in this way") : cause.cases === 1 ? "has this cause" : "have this cause";
    const share = `${grouped(cause.cases)} of ${plural(cause.failing, "failing case")} ${verb}. The smallest that triage found, in this run or beside it:`;
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
  // In the list of findings every cause is shown once, and named wherever it occurs again.
  const shown = new Set();
  const inList = (index) => {
    const cause = all[index];
    if (!cause) return null;
    if (!shown.has(index)) {
      shown.add(index);
      const whole = view(index);
      whole.id = `cause-${index}`;
      return whole;
    }
    return element("p", { class: "cause" }, element("b", {}, `Cause: ${cause.text}`), " ", element("a", { href: `#cause-${index}` }, "(shown above)"));
  };
  const ofCase = (i) => {
    const index = (data.cause_of || [])[i];
    return typeof index === "number" ? view(index) : null;
  };
    // Whether one of these causes shows lines of the source.
  const haveExcerpt = (indices) => indices.some((index) => all[index] && all[index].excerpt !== "");
  return { inList, ofCase, haveExcerpt, any: all.length > 0 };
})();
