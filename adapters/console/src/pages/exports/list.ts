// Exports.
import { h, type Child } from "../../ui/dom";
import { button, empty, heading } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { records } from "../../ui/table";
import { time } from "../../ui/time";
import { exportsPath, type Export } from "../../api/exports";
import { go, href } from "../../router";
import { project } from "../../session";
import { w } from "../../words";
import { wo } from "../../words/exports";

export default function exportsPage(): Child {
  const list = pages<Export>(() => ({ path: exportsPath(), query: { limit: 50 } }));
  return [
    heading(w.exports, button(wo.newExport, { kind: "primary", scope: "batch_export:write", run: () => go(`p/${project.peek()}/exports/new`) })),
    listOf(list, () => empty(wo.noExports, wo.noExportsText), (rows) =>
      records<Export>(
        w.exports,
        [
          { label: wo.name, cell: (e) => h("bdi", null, h("a", { href: () => href(`p/${project()}/exports/${e().id}`) }, () => e().name)) },
          { label: wo.data, cell: (e) => () => wo.models[e().model] ?? e().model },
          { label: wo.every, cell: (e) => () => wo.intervals[e().interval] ?? e().interval },
          { label: wo.destination, cell: (e) => () => wo.types[e().destination.type] ?? e().destination.type },
          { label: wo.state, cell: (e) => () => (e().paused ? wo.paused : wo.running) },
          { label: wo.lastRun, cell: (e) => () => lastRun(e()), class: "meta" },
        ],
        rows,
        (e) => e.id,
      ),
    ),
  ];
}

function lastRun(e: Export): Child {
  const run = e.latest_runs[0];
  return run ? [wo.states[run.status] ?? run.status, " ", time(run.finished_at)] : wo.noRun;
}
