// The tab Backfills of an export.
import { type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { button, empty } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { send } from "../../api/client";
import { spanText, isRunning, type Backfill } from "../../api/exports";
import type { Params } from "../../routes";
import { words } from "../../words";
import { exportWords } from "../../words/exports";
import { showRefusal } from "../flags/actions";
import { exportPage, reloadWhileVisible, scope } from "./frame";

export default function backfillsPage(params: Params): Child {
  return exportPage(params, "backfills", (e, path, again) => {
    reloadWhileVisible(again);
    const list = pages<Backfill>(() => (again(), { path: path + "backfills/", query: {} }));
    const cancel = (b: Backfill) => send("POST", `${path}backfills/${b.id}/cancel/`, {}).then(() => (announce(exportWords.cancelled), again.update((n) => n + 1)), showRefusal);
    return listOf(list, () => empty(exportWords.noBackfills, exportWords.noBackfillsText), (rows) =>
      recordTable<Backfill>(
        exportWords.backfills,
        [
          { label: exportWords.span, cell: (b) => () => spanText(b().start_at, b().end_at, e.peek().timezone) },
          { label: exportWords.state, cell: (b) => () => exportWords.states[b().status] ?? b().status },
          { label: exportWords.progress, cell: (b) => () => (b().progress ? exportWords.progressOf(b().progress!.finished_runs, b().progress!.total_runs) : words.dash), class: "number" },
          { label: exportWords.finished, cell: (b) => () => time(b().finished_at) ?? words.dash, class: "meta" },
          { label: "", cell: (b) => () => (isRunning(b().status) ? button(exportWords.cancelBackfill, { kind: "small", scope, run: () => cancel(b.peek()) }) : null), class: "tight" },
        ],
        rows,
        (b) => b.id,
      ),
    );
  });
}
