// Tables of records. On small screens, each row is a card with the same cells and labels.
import { each, h, type Child, type Signal } from "./dom";

export interface Column<T> {
  label: string;
  cell: (row: Signal<T>) => Child;
  class?: string;
}

/** Returns a box in which a table can scroll sideways. It is focusable and has a name. */
export function scroller(name: string, table: HTMLElement): HTMLElement {
  return h("div", { class: "scroller", tabindex: 0, role: "group", "aria-label": name }, table);
}

/** Returns a table. A column without a label contains buttons. */
export function recordTable<T>(name: string, columns: Column<T>[], rows: () => readonly T[], key: (row: T) => string | number): HTMLElement {
  const width = (c: Column<T>) => /number|tight/.exec(c.class ?? "")?.[0] ?? null;
  const head = (c: Column<T>) => (c.label ? h("th", { scope: "col", role: "columnheader", class: width(c) }, c.label) : h("td", { role: "cell", class: width(c) }));
  const row = (r: Signal<T>) => h("tr", { role: "row" }, columns.map((c) => h("td", { role: "cell", class: c.class, "data-label": c.label || null }, c.cell(r))));
  return scroller(
    name,
    h("table", { class: "cards plain", role: "table", "aria-label": name }, h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(head))), h("tbody", { role: "rowgroup" }, each(rows, key, row))),
  );
}

/** Returns a table of names and values. */
export function factTable(name: string, heads: [string, string], rows: () => [string, unknown][]): HTMLElement {
  const text = (v: unknown) => (typeof v === "string" ? v : JSON.stringify(v));
  return scroller(
    name,
    h("table", { "aria-label": name }, h("thead", null, h("tr", null, heads.map((t) => h("th", { scope: "col" }, t)))), h("tbody", null, () => rows().map(([k, v]) => h("tr", null, h("td", { class: "code" }, h("bdi", null, k)), h("td", { class: "long" }, h("bdi", null, text(v))))))),
  );
}
