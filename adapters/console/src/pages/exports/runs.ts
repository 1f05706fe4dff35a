// The tab Runs of an export: its runs and their logs.
import { h, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { button, empty } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { fullTime, time } from "../../ui/time";
import { send } from "../../api/client";
import { spanText, isRunning, type Export, type Run } from "../../api/exports";
import type { Params } from "../../routes";
import { number, words } from "../../words";
import { exportWords } from "../../words/exports";
import { showRefusal } from "../flags/actions";
import { exportPage, reloadWhileVisible, scope } from "./frame";

export default function runsPage(params: Params): Child {
  return exportPage(params, "", (e, path, again) => {
    reloadWhileVisible(again);
    const list = pages<Run>(() => (again(), { path: path + "runs/", query: {} }));
    return listOf(list, () => empty(exportWords.noRuns, exportWords.noRunsText), (rows) => table(e, path, rows, again));
  });
}

function table(e: Signal<Export>, path: string, rows: () => Run[], again: Signal<number>): HTMLElement {
  const span = (r: Run) => spanText(r.data_interval_start, r.data_interval_end, e.peek().timezone);
  const act = (r: Run, what: string, said: string) => send("POST", `${path}runs/${r.id}/${what}/`, {}).then(() => (announce(said), again.update((n) => n + 1)), showRefusal);
  const count = (n: number | null) => (n === null ? words.dash : number(n));
  return recordTable<Run>(
    exportWords.runs,
    [
      { label: exportWords.span, cell: (r) => () => span(r()) },
      { label: exportWords.state, cell: (r) => [() => exportWords.states[r().status] ?? r().status, () => (r().latest_error ? h("p", { class: "fault" }, h("bdi", { lang: "en" }, r().latest_error)) : null)], class: "long" },
      { label: exportWords.rows, cell: (r) => () => count(r().records_completed), class: "number" },
      { label: exportWords.bytes, cell: (r) => () => count(r().bytes_exported), class: "number" },
      { label: exportWords.finished, cell: (r) => () => time(r().finished_at) ?? words.dash, class: "meta" },
      {
        label: "",
        cell: (r) => [
          button(exportWords.log, { kind: "small", "aria-label": () => exportWords.logOf(span(r())), run: () => log(path, r.peek(), span(r.peek())) }),
          " ",
          () => (isRunning(r().status) ? button(exportWords.cancelRun, { kind: "small", scope, run: () => act(r.peek(), "cancel", exportWords.cancelled) }) : button(exportWords.runAgain, { kind: "small", scope, run: () => act(r.peek(), "retry", exportWords.runsAgain) })),
        ],
        class: "tight",
      },
    ],
    rows,
    (r) => r.id,
  );
}

interface Line {
  timestamp: string;
  level: string;
  message: string;
}

async function log(path: string, r: Run, span: string): Promise<void> {
  const line = (l: Line) => h("li", null, h("span", { class: "meta when" }, h("time", { datetime: l.timestamp }, fullTime(l.timestamp))), h("strong", null, l.level), h("bdi", { lang: "en" }, l.message));
  await dialog<void>({ title: exportWords.logOf(span), wide: true, cancel: words.close }, () => {
    const list = pages<Line>(() => ({ path: `${path}runs/${r.id}/logs/`, query: { limit: 100 } }));
    return { content: listOf(list, () => h("p", { class: "meta" }, exportWords.noLog), (lines) => h("ul", { class: "rows", "aria-label": exportWords.log }, () => lines().map(line))), buttons: null };
  });
}
