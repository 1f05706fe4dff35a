// The list of exports.
import { h, type Child } from "../../ui/dom";
import { button, empty, heading } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { exportsPath, type Export } from "../../api/exports";
import { go, href } from "../../router";
import { project } from "../../session";
import { words } from "../../words";
import { exportWords } from "../../words/exports";

export default function exportsPage(): Child {
  const list = pages<Export>(() => ({ path: exportsPath(), query: { limit: 50 } }));
  return [
    heading(words.exports, button(exportWords.newExport, { kind: "primary", scope: "batch_export:write", run: () => go(`p/${project.peek()}/exports/new`) })),
    listOf(list, () => empty(exportWords.noExports, exportWords.noExportsText), (rows) =>
      recordTable<Export>(
        words.exports,
        [
          { label: exportWords.name, cell: (e) => h("bdi", null, h("a", { href: () => href(`p/${project()}/exports/${e().id}`) }, () => e().name)) },
          { label: exportWords.data, cell: (e) => () => exportWords.models[e().model] ?? e().model },
          { label: exportWords.every, cell: (e) => () => exportWords.intervals[e().interval] ?? e().interval },
          { label: exportWords.destination, cell: (e) => () => exportWords.types[e().destination.type] ?? e().destination.type },
          { label: exportWords.state, cell: (e) => () => (e().paused ? exportWords.paused : exportWords.running) },
          { label: exportWords.lastRun, cell: (e) => () => lastRun(e()), class: "meta" },
        ],
        rows,
        (e) => e.id,
      ),
    ),
  ];
}

function lastRun(e: Export): Child {
  const run = e.latest_runs[0];
  return run ? [exportWords.states[run.status] ?? run.status, " ", time(run.finished_at)] : exportWords.noRun;
}
