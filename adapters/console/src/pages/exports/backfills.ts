// The backfills of an export.
import { type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { button, empty } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { records } from "../../ui/table";
import { time } from "../../ui/time";
import { send } from "../../api/client";
import { spanText, underWay, type Backfill } from "../../api/exports";
import type { Params } from "../../routes";
import { w } from "../../words";
import { wo } from "../../words/exports";
import { refused } from "../flags/actions";
import { exportPage, following, scope } from "./frame";

export default function backfillsPage(params: Params): Child {
  return exportPage(params, "backfills", (e, path, again) => {
    following(again);
    const list = pages<Backfill>(() => (again(), { path: path + "backfills/", query: {} }));
    const cancel = (b: Backfill) => send("POST", `${path}backfills/${b.id}/cancel/`, {}).then(() => (announce(wo.cancelled), again.update((n) => n + 1)), refused);
    return listOf(list, () => empty(wo.noBackfills, wo.noBackfillsText), (rows) =>
      records<Backfill>(
        wo.backfills,
        [
          { label: wo.span, cell: (b) => () => spanText(b().start_at, b().end_at, e.peek().timezone) },
          { label: wo.state, cell: (b) => () => wo.states[b().status] ?? b().status },
          { label: wo.progress, cell: (b) => () => (b().progress ? wo.progressOf(b().progress!.finished_runs, b().progress!.total_runs) : w.dash), class: "number" },
          { label: wo.finished, cell: (b) => () => time(b().finished_at) ?? w.dash, class: "meta" },
          { label: "", cell: (b) => () => (underWay(b().status) ? button(wo.cancelBackfill, { kind: "small", scope, run: () => cancel(b.peek()) }) : null), class: "tight" },
        ],
        rows,
        (b) => b.id,
      ),
    );
  });
}
