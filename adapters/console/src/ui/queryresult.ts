// The result of a query: a chart and a table of its numbers.
import { effect, h, onEnd, signal, untracked, when, type Child } from "./dom";
import { loadingBars, button, problem } from "./parts";
import { chart, download, valuesTable } from "./chart";
import { chartDataOf, type ChartData, type Query } from "../api/chartdata";
import { runQuery, type QueryResponse, type Progress } from "../api/query";
import { insightWords } from "../words/insights";

export interface QueryResultOptions {
  /** Runs the query. It uses the query API by default. */
  ask?: (q: Query, cancel: AbortSignal, progress: Progress) => Promise<QueryResponse>;
  /** Whether it is a tile of a dashboard: small, with a button that switches between chart and table. */
  tile?: boolean;
}

/** Shows the result of a query, which runs again 0.4 seconds after it changed. If query returns null, nothing runs. */
export function queryResult(name: () => string, query: () => Query | null, o: QueryResultOptions = {}): HTMLElement {
  const picture = signal<ChartData | null>(null);
  const fault = signal<unknown>(undefined);
  const busy = signal(true);
  const read = signal("");
  const again = signal(0);
  let timer = 0;
  let cancel: AbortController | undefined;
  let first = true;
  onEnd(() => (clearTimeout(timer), cancel?.abort()));
  effect(() => {
    const q = query();
    again();
    untracked(() => {
      clearTimeout(timer);
      cancel?.abort();
      if (!q) return busy.set(false);
      const mine = (cancel = new AbortController());
      busy.set(true);
      timer = setTimeout(() => {
        (o.ask ?? runQuery)(q, mine.signal, (n, of) => read.set(insightWords.reading(n, of))).then(
          (a) => mine.signal.aborted || (picture.set(chartDataOf(q, a)), fault.set(undefined), busy.set(false), read.set("")),
          (e: unknown) => mine.signal.aborted || (fault.set(e), busy.set(false), read.set("")),
        );
      }, first ? 0 : 400);
      first = false;
    });
  });
  return h(
    o.tile ? "div" : "section",
    { "aria-label": o.tile ? null : insightWords.result, "aria-busy": busy },
    () => (fault() ? problem(insightWords.notAnswered, fault(), () => again.update((n) => n + 1)) : null),
    () => (read() ? h("p", { class: "meta" }, read()) : null),
    () => (picture() ? (o.tile ? tileResult : fullResult)(name, picture()!) : fault() ? null : loadingBars(8)),
  );
}

function fullResult(name: () => string, p: ChartData): Child {
  if (!p.table.rows.length) return h("p", { class: "meta" }, insightWords.nothingFound);
  return [
    untracked(() => chart(name(), p)),
    h("div", { class: "between gap gap-above" }, h("h2", null, insightWords.values), button(insightWords.downloadCSV, { run: () => download(name(), p.table) })),
    valuesTable(insightWords.values, p.table),
  ];
}

function tileResult(name: () => string, p: ChartData): Child {
  if (!p.table.rows.length) return h("p", { class: "meta" }, insightWords.nothingFound);
  const table = signal(p.shape === "none");
  return [
    when(() => !table(), () => chart(name(), p, 180)),
    when(table, () => valuesTable(insightWords.values, p.table)),
    p.shape === "none" ? null : h("button", { type: "button", class: "button small", onclick: () => table.update((x) => !x) }, () => (table() ? insightWords.showChart : insightWords.showTable)),
  ];
}
