"use strict";
// Findings and the table of cases first; charts once they are on the screen.
assay.findings.fill();
assay.heatMap.fill();
assay.filter.fill();
assay.caseTable.fill();
assay.caseDialog.start();
assay.charts.fill();
document.documentElement.dataset.ready = "true";
performance.mark("assay-ready");
