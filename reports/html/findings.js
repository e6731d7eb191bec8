// The top of the page: the outcome, and the cases that did not pass.
"use strict";
assay.findings = (() => {
  const { data, of, element, byId, chip, plural, grouped, fails, isExpected } = assay;
  const run = data.run;

  const fillHead = () => {
    byId("headline").textContent = `Run ${run.id}: ${run.outcome}`;
    const counts = new Map();
    for (const i of assay.all) counts.set(of.status(i), (counts.get(of.status(i)) || 0) + 1);
    const ordered = [...counts].sort(([a], [b]) => fails(b) - fails(a));
    byId("tiles").replaceChildren(
      ...ordered.map(([status, n]) =>
        element(
          "li",
          {},
          element(
            "button",
            {
              type: "button",
              class: fails(status) ? "fails" : status,
              "aria-label": `Show the ${plural(n, "case")} with verdict ${status}`,
              onclick: () => assay.filter.showOnly({ status }),
            },
            element("b", {}, grouped(n)),
            status,
          ),
        ),
      ),
    );
    const end = run.finished === "" ? "did not finish" : `${run.stopped ? "stopped" : "ended"} ${run.finished}`;
    byId("run-line").replaceChildren(
      element("code", {}, run.command),
      `, started ${run.started}, ${end}. ${run.elements}.${run.fast_math === undefined ? "" : ` ${run.fast_math}.`}`,
    );
  };

  const card = (finding) => {
    const i = finding.smallest;
    const members = finding.members.length;
    const kind = finding.fails ? "is-failure" : isExpected(finding.status) ? "is-known" : "";
    const reason =
      of.reason(i) || (finding.status === "no verdict" ? "the run was stopped before there was a verdict" : "no reason was recorded");
    const ratio =
      finding.ratio === "inf" || finding.ratio > 0 ? `, largest error / bound ${assay.formatRatio(assay.number(finding.ratio))}` : "";
    const label = `${finding.variant}, ${finding.status}: ${reason}`;
    return element(
      "article",
      { class: `finding ${kind}` },
      element("h3", {}, chip(finding.status), " ", finding.variant, ": ", members > 1 ? "in the smallest case, " : "", reason),
      element(
        "div",
        { class: "finding-facts" },
        element("span", {}, plural(members, "case"), ratio),
        element(
          "a",
          { href: assay.caseAddress(i), "aria-label": `Open the smallest case of ${label}` },
          members > 1 ? "Open the smallest of these" : "Open it",
        ),
        members > 1
          ? element(
              "button",
              {
                type: "button",
                "aria-label": `Show the ${members} cases of ${label}`,
                onclick: () => assay.filter.showOnly({ chosen: { label, members: new Set(finding.members) } }),
              },
              `Show the ${grouped(members)} cases`,
            )
          : null,
      ),
      finding.status === "skipped" ? null : assay.replayLine(i),
      (finding.causes || []).map(assay.causes.inList),
      assay.causes.haveExcerpt(finding.causes || []) ? null : assay.sources.around(finding.place, "In the smallest case at "),
    );
  };

  const kShown = 8;
  const fillFindings = () => {
    const failing = data.findings.filter((finding) => finding.fails);
    const others = data.findings.filter((finding) => !finding.fails);
    const list = byId("finding-list");
    const isWhole = run.without_verdict === 0 && !run.stopped;
    list.replaceChildren(
      failing.length === 0
        ? element("p", {}, isWhole ? "No case failed." : "No case that has a verdict failed.")
        : element(
            "p",
            { class: "quiet" },
            "Each group has the cases of one variant with the same verdict and reason, and names the smallest. ",
            ...(assay.causes.any
              ? ["Causes are those that triage found at the end of the run."]
              : [element("code", {}, "assay triage"), " searches for causes and source lines."]),
          ),
    );
    if (!isWhole)
      list.prepend(
        element(
          "article",
          { class: "finding is-failure" },
          element("h3", {}, chip("no verdict"), " ", "The run was stopped before every case had run"),
          element(
            "p",
            {},
            run.without_verdict === 0
              ? "Parts of the selection are missing."
              : `${grouped(run.without_verdict)} of the ${plural(run.selected, "selected case")} ${run.without_verdict === 1 ? "has" : "have"} no verdict, so their results are unknown.`,
          ),
        ),
      );
    if (data.shared)
      list.append(
        element(
          "ul",
          { class: "shared", "aria-label": "What the failing cases have in common" },
          data.shared.map((sentence) => element("li", {}, sentence)),
        ),
      );
    list.append(...failing.slice(0, kShown).map(card));
    if (failing.length > kShown)
      list.append(
        element(
          "details",
          {},
          element("summary", {}, `${plural(failing.length - kShown, "further finding")}`),
          failing.slice(kShown).map(card),
        ),
      );
    if (others.length > 0)
      list.append(
        element(
          "details",
          { open: failing.length === 0 && others.length <= 3 },
          element("summary", {}, `Known and skipped (${plural(others.length, "group")})`),
          others.map(card),
        ),
      );
    if (data.remarks)
      list.append(
        element("h3", {}, "Remarks"),
        element(
          "ul",
          {},
          data.remarks.map((remark) => element("li", {}, remark)),
        ),
      );
    if (run.notes.length > 0)
      list.append(
        element("h3", {}, "Notes"),
        element(
          "ul",
          {},
          run.notes.map((note) => element("li", {}, note)),
        ),
      );
  };

  // What kernels do that their contracts leave out, and what no case of the gate does.
  const fillBeyond = () => {
    byId("statement-list").replaceChildren(
      ...data.statements.map(([text, isBroken]) => element("li", isBroken ? { class: "alarm" } : {}, text)),
    );
    byId("omission-list").replaceChildren(
      ...data.omissions.map(([family, sentences]) =>
        element(
          "details",
          {},
          element("summary", {}, family),
          element(
            "ul",
            {},
            sentences.map((sentence) => element("li", {}, sentence)),
          ),
        ),
      ),
    );
  };

  const fillFacts = () => {
    const facts = [
      ["Executed on", "the simulator"],
      ["Command", run.command],
      ["assay", run.version],
      ["Machine", run.machine],
      ["Policy", run.policy],
      ["Compiler", run.compiler],
      ["Compiler options", run.flags],
      ["Schedule", run.schedule || "each case\u2019s own"],
      ["Seed", run.seed],
      ["Shard", run.shard],
      ["Cases selected", grouped(run.selected)],
      ["Outside of [limits]", grouped(run.outside_limits)],
      ["Output digest", run.digest],
    ];
    byId("run-facts").replaceChildren(
      ...facts.filter(([, value]) => value !== "").flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    );
    assay.fillTable(
      byId("source-table"),
      "The preprocessed source and the variant.toml",
      ["Variant", "File", "Digest"],
      run.sources.map(([variant, file, digest]) => [variant, file, digest]),
    );
  };

  return {
    fill: () => {
      fillHead();
      fillFindings();
      fillBeyond();
      fillFacts();
    },
  };
})();
