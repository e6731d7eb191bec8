// Starts the parts of the page: findings and the table of cases first, charts once they are visible.
"use strict";
assay.findings.fill();
assay.heatMap.fill();
assay.filter.fill();
assay.caseTable.fill();
assay.caseDialog.start();
assay.charts.fill();
assay.scatter.fill();
assay.against.fill();
document.documentElement.dataset.ready = "true";
performance.mark("assay-ready");
