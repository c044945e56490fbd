//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportParts.h"
#include "llvm/Support/raw_ostream.h"

static const char ReportStyle[] = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #1c2430; --muted: #647080;
  --line: #e2e6ec; --accent: #1f6feb; --good: #17803d; --bad: #c4302b;
  --warn: #a86400; --good-soft: #dff5e5; --bad-soft: #fbe2e0;
  --f0: #c9d3df; --f1: #a8c0dc; --f2: #6fa3dd; --f3: #2f7ad6; --f4: #d9480f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1a2029; --text: #e3e8ef; --muted: #93a0b0;
    --line: #2c3542; --accent: #5aa2ff; --good: #4cc274; --bad: #ff7a73;
    --warn: #e0a040; --good-soft: #173a25; --bad-soft: #4a2020;
    --f0: #39434f; --f1: #3d5570; --f2: #41719f; --f3: #4f9be8; --f4: #ff9450;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 24px 20px 60px; max-width: 1080px;
  background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
h1 { font-size: 24px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 10px; }
h3 { font-size: 14px; margin: 16px 0 6px; }
header p, .legend, .note { color: var(--muted); margin: 4px 0 0; font-size: 13.5px; }
.caveat { color: var(--warn); margin: 8px 0 0; }
.text { margin: 0 0 10px; }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 18px 20px; margin-top: 18px; overflow-x: auto;
}
.verdict { border-left: 6px solid var(--muted); }
.verdict.win { border-left-color: var(--good); }
.verdict strong { font-size: 26px; display: block; line-height: 1.25; }
.verdict.win strong { color: var(--good); }
.facts { display: flex; flex-wrap: wrap; gap: 10px 34px; margin: 16px 0 0; }
.facts div { min-width: 90px; }
.facts dt { color: var(--muted); font-size: 12.5px; margin: 0; }
.facts dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13.5px; }
th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--muted); font-weight: 600; white-space: nowrap; }
td.n, th.n { text-align: right; }
td.good { color: var(--good); } td.bad { color: var(--bad); }
th[data-sort] { cursor: pointer; user-select: none; }
th[aria-sort="ascending"]::after { content: " ▲"; font-size: 9px; }
th[aria-sort="descending"]::after { content: " ▼"; font-size: 9px; }
code, pre { font: 12.5px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 8px 0 0; }
del { background: var(--bad-soft); color: var(--bad); }
ins { background: var(--good-soft); color: var(--good); text-decoration: none; }
details summary { cursor: pointer; color: var(--muted); }
svg { display: block; width: 100%; height: auto; min-width: 640px; }
svg text { fill: var(--muted); font-size: 11.5px; font-family: inherit; }
svg text.strong { fill: var(--text); }
svg text.mark { fill: var(--text); stroke: var(--card); stroke-width: 4px;
  paint-order: stroke; pointer-events: none; }
.grid { stroke: var(--line); } .axis { stroke: var(--muted); }
.baseline { stroke: var(--muted); stroke-dasharray: 5 4; }
.best { fill: none; stroke: var(--good); stroke-width: 2; }
.complete { fill: var(--accent); } .pruned { fill: var(--f0); }
.failed { fill: var(--bad); } .canary { fill: var(--warn); }
.canary.off { stroke: var(--bad); stroke-width: 2.5; }
.sample { fill-opacity: .55; } .reference { fill: var(--muted); }
.median { stroke: var(--text); stroke-width: 2; } .winner { fill: var(--good); }
circle[data-trial]:hover, path[data-trial]:hover { stroke: var(--text); stroke-width: 2; }
.bar { fill: var(--accent); }
polyline { fill: none; stroke-width: 1; stroke-opacity: .45; }
polyline.fifth4 { stroke-width: 1.3; stroke-opacity: .8; }
polyline:hover, polyline.on { stroke-width: 3; stroke-opacity: 1; stroke: var(--text); }
circle.on, path.on { stroke: var(--text); stroke-width: 2; }
.fifth0 { stroke: var(--f0); } .fifth1 { stroke: var(--f1); } .fifth2 { stroke: var(--f2); }
.fifth3 { stroke: var(--f3); } .fifth4 { stroke: var(--f4); }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 5px;
  margin: 0 2px 0 12px; }
.key.complete { background: var(--accent); } .key.pruned { background: var(--f0); }
.key.failed { background: var(--bad); } .key.canary { background: var(--warn); border-radius: 0; transform: rotate(45deg) scale(.8); }
.key.off { outline: 3px solid var(--bad); }
.key.winner { background: var(--good); }
.key.best { background: var(--good); height: 3px; vertical-align: middle; }
.key.fifth0 { background: var(--f0); } .key.fifth4 { background: var(--f4); }
tr[data-trial] { cursor: pointer; } tr[data-trial]:hover { background: var(--page); }
#trials { max-height: 560px; overflow: auto; margin-top: 8px; }
#trials th { position: sticky; top: 0; background: var(--card); }
#trials td { white-space: nowrap; }
#detail { position: sticky; bottom: 0; background: var(--card);
  border-top: 2px solid var(--accent); padding-top: 6px; }
#detail:empty { display: none; }
@media print { #trials { max-height: none; } section { break-inside: avoid; } }
)css";

// The page is complete without this script, which sorts the table and shows a
// trial in full.
const char llvm::mneme::ReportScript[] = R"js(
"use strict";
const study = JSON.parse(document.getElementById("study").textContent);
const byNumber = new Map(study.trials.map(t => [String(t.number), t]));

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const numeric = head.dataset.sort === "number";
    const key = row => {
      const text = row.cells[column].dataset.value ?? row.cells[column].textContent;
      return numeric ? (text === "" ? Infinity : Number(text)) : text;
    };
    const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === b) return 0;
      // What has no value comes last, either way.
      if (a === Infinity || a === "") return 1;
      if (b === Infinity || b === "") return -1;
      return (a < b ? -1 : 1) * (up ? 1 : -1);
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }));
}

document.addEventListener("click", event => {
  const mark = event.target.closest("[data-trial]");
  if (!mark) return;
  const number = mark.dataset.trial;
  document.querySelectorAll(".on").forEach(e => e.classList.remove("on"));
  document.querySelectorAll(`svg [data-trial="${number}"]`)
      .forEach(e => e.classList.add("on"));
  document.getElementById("detail").textContent =
      JSON.stringify(byNumber.get(number), null, 1);
});
)js";

void llvm::mneme::beginPage(raw_ostream &OS, StringRef Title, StringRef Style) {
  std::string Name = escapeHTML(Title);
  OS << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"
     << Name
     << "</title>\n"
        // Otherwise, browsers request an icon from the page's folder.
        "<link rel=\"icon\" href=\"data:,\">\n<style>"
     << ReportStyle << Style << "</style>\n</head>\n<body>\n<header>\n<h1>"
     << Name << "</h1>\n";
}
