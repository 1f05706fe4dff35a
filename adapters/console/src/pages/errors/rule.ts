// The dialog of an assignment rule.
import { each, h, signal, when, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { combobox, type Option } from "../../ui/combobox";
import { dialog } from "../../ui/dialog";
import { icon } from "../../ui/icons";
import { button, field, problem, select } from "../../ui/parts";
import { get, send } from "../../api/client";
import { valueTexts } from "../../api/draft";
import { flatFilters, owners, rulesPath, type Rule, type RuleFilter } from "../../api/errors";
import { projectPath } from "../../session";
import { operators, words } from "../../words";
import { errorWords } from "../../words/errors";

interface Row {
  id: number;
  filter: RuleFilter;
}

/** The properties of an error that rules can use. */
const ofIssue = ["name", "description", "status"];
const kinds = ["event", "person", "error_tracking_issue"];
const several = new Set(["exact", "is_not"]);
const takesNoValue = (operator?: string) => operator === "is_set" || operator === "is_not_set";
let ids = 0;
const row = (filter: RuleFilter): Row => ({ id: ++ids, filter });
const newRow = () => row({ type: "event", key: "", operator: "exact", value: "" });

async function names(source: string, typed: string): Promise<Option[]> {
  const list = source === "error_tracking_issue" ? ofIssue : (await get<{ results: { name: string }[] }>(projectPath("property_definitions/"), { type: source, search: typed, limit: 20 })).results.map((p) => p.name);
  return list.filter((n) => n.includes(typed)).map((n) => ({ value: n, text: n }));
}

/** Opens the dialog to create or change a rule. It returns true if the rule was saved. */
export async function openRule(rule?: Rule): Promise<boolean> {
  const was = rule ? flatFilters(rule.filters) : [];
  const rows = signal<Row[]>(rule ? (was ?? []).map(row) : [newRow()]);
  const any = signal(rule?.filters.type === "OR");
  const owner = signal(rule?.assignee ?? "");
  const fault = signal<unknown>(undefined);
  const save = async () => {
    const values = rows.peek().map((r) => ({ ...r.filter, key: r.filter.key.trim(), value: takesNoValue(r.filter.operator) ? r.filter.operator : r.filter.value }));
    const body = { assignee: owner.peek() || null, ...(was ? { filters: { type: any.peek() ? "OR" : "AND", values } } : {}) };
    await (rule ? send("PATCH", `${rulesPath()}${rule.id}/`, body) : send("POST", rulesPath(), body));
  };
  const saved = await dialog<true>({ title: rule ? errorWords.editRule : errorWords.newRule, wide: true }, (d) => ({
    content: [
      () => (fault() ? problem(words.notDone, fault()) : null),
      was ? filters(rows, any) : h("p", { class: "meta" }, errorWords.otherRule),
      ownerField(owner, rule?.assignee ?? null),
    ],
    buttons: button(words.save, { kind: "primary", run: () => save().then(() => d.close(true), (e: unknown) => fault.set(e)) }),
  }));
  if (saved) announce(words.saved);
  return saved === true;
}

function ownerField(owner: Signal<string>, now: string | null): HTMLElement {
  const all = owners();
  return field(select(owner, () => all.options(now), owner.set), { label: errorWords.assigned });
}

function filters(rows: Signal<Row[]>, any: Signal<boolean>): HTMLElement {
  return h(
    "div",
    { class: "stack" },
    when(() => rows().length > 1, () => field(select(() => (any() ? "any" : "all"), () => [["all", errorWords.all], ["any", errorWords.any]], (v) => any.set(v === "any")), { label: errorWords.match })),
    each(rows, (r) => r.id, (r) => filterOf(r, rows)),
    h("div", null, h("button", { type: "button", class: "button small", onclick: () => rows.update((list) => [...list, newRow()]) }, icon("plus"), words.addFilter)),
  );
}

function filterOf(r: Signal<Row>, rows: Signal<Row[]>): HTMLElement {
  const { id } = r.peek();
  const f = () => r().filter;
  const put = (c: Partial<RuleFilter>) => rows.update((list) => list.map((x) => (x.id === id ? { ...x, filter: { ...x.filter, ...c } } : x)));
  const operatorOptions = () => Object.entries(operators).filter(([name]) => !name.endsWith("between"));
  const value: HTMLInputElement = h("input", { type: "text", "aria-label": words.value, placeholder: words.value, value: () => valueTexts(f().value).join(", "), onchange: () => put({ value: several.has(f().operator ?? "exact") && Array.isArray(f().value) ? value.value.split(",").map((x) => x.trim()) : value.value }) });
  return h(
    "div",
    { role: "group", "aria-label": () => words.filter(rows().findIndex((x) => x.id === id) + 1), class: "filter" },
    select(() => f().type, () => [...new Set([...kinds, f().type])].map((k) => [k, errorWords.kinds[k] ?? k] as const), (type) => put({ type, key: "" }), { "aria-label": errorWords.of }),
    combobox({ label: words.property, value: () => f().key, options: (typed) => names(f().type, typed), change: (key) => put({ key }), free: true, placeholder: words.property }),
    select(() => f().operator ?? "exact", operatorOptions, (operator) => put({ operator, value: takesNoValue(operator) ? "" : f().value }), { "aria-label": words.operator }),
    when(() => !takesNoValue(f().operator), () => value),
    h("button", { type: "button", class: "button quiet icon-only", "aria-label": words.removeFilter, title: words.removeFilter, onclick: () => rows.update((list) => list.filter((x) => x.id !== id)) }, icon("close")),
  );
}
