// The form of a filter: property, operator and values.
import { computed, each, h, when, type Signal } from "../../ui/dom";
import { combobox, type Option } from "../../ui/combobox";
import { icon } from "../../ui/icons";
import { dialog } from "../../ui/dialog";
import { button, field, select } from "../../ui/parts";
import { get } from "../../api/client";
import { valueTexts, type FilterDraft } from "../../api/draft";
import type { Filter } from "../../api/flags";
import { projectPath } from "../../session";
import { operators, words } from "../../words";

type List<T> = { results: T[] };

/** The operators that take several values, and those that take none. */
const multiValued = new Set(["exact", "is_not", "between", "not_between", "in", "not_in"]);
const valueless = new Set(["is_set", "is_not_set"]);
const maxShownValues = 20; // the maximum number of values that are shown one by one; more are edited as a list

async function propertyNames(typed: string, type: string, flags: boolean): Promise<Option[]> {
  const list = await get<List<{ name: string; property_type: string | null }>>(projectPath("property_definitions/"), { type, search: typed, limit: 20 });
  const own: Option[] = [
    { value: "@cohort", text: words.inCohort },
    ...(flags ? [{ value: "@flag", text: words.anotherFlag }] : []),
    { value: "distinct_id", text: words.distinctID },
  ].filter((o) => o.text.toLowerCase().includes(typed.toLowerCase()));
  return [...list.results.map((p) => ({ value: p.name, text: p.name, note: p.property_type ?? "" })), ...own];
}

async function values(f: Filter, typed: string): Promise<Option[]> {
  if (f.type === "cohort") {
    const list = await get<List<{ id: number; name: string }>>(projectPath("cohorts/"), { search: typed, limit: 20 });
    return list.results.map((c) => ({ value: String(c.id), text: c.name, note: `#${c.id}` }));
  }
  if (f.type === "flag") return ["true", "false"].map((v) => ({ value: v, text: v }));
  if (!f.key) return [];
  const seen = await get<{ name: unknown; count: number }[]>(projectPath("persons/values/"), { key: f.key, value: typed });
  return seen.slice(0, 20).map((v) => ({ value: String(v.name), text: String(v.name), note: String(v.count) }));
}

function operatorsOf(f: Filter): (readonly [string, string])[] {
  if (f.type === "cohort") return [["in", operators.exact!], ["not_in", operators.is_not!]];
  if (f.type === "flag") return [["flag_evaluates_to", operators.exact!]];
  const all = Object.entries(operators).map((o) => o as readonly [string, string]);
  return f.operator && !operators[f.operator] ? [...all, [f.operator, f.operator]] : all;
}

/** Opens a dialog to edit many values, one on each line. It returns undefined after Cancel. */
async function editList(now: string[]): Promise<string[] | undefined> {
  const text: HTMLTextAreaElement = h("textarea", { rows: 16, class: "code", spellcheck: "false", value: now.join("\n") });
  const done = await dialog<boolean>({ title: words.editList }, (d) => ({
    content: field(text, { label: words.valuesByLine }),
    buttons: h("button", { type: "button", class: "button primary", onclick: () => d.close(true) }, words.doneButton),
  }));
  return done ? [...new Set(text.value.split("\n").map((v) => v.trim()).filter(Boolean))] : undefined;
}

export interface FilterActions {
  change(id: number, filter: Filter): void;
  remove(id: number): void;
}

/** Returns the row of a filter. flags allows filters on other flags, which cohorts do not have. Faults are shown once the filter is complete. */
export function filterRow(item: Signal<FilterDraft>, n: () => number, act: FilterActions, locked: () => boolean, flags = true, faults: () => string[] = () => []): HTMLElement {
  const f = () => item().filter;
  const put = (change: Partial<Filter>) => act.change(item.peek().id, { ...item.peek().filter, ...change });
  const finished = () => f().key !== "" && (f().type !== "cohort" || f().value !== undefined);
  const shownKey = () => (f().type === "cohort" ? words.inCohort : f().type === "flag" ? words.anotherFlag : f().key === "distinct_id" ? words.distinctID : f().key);
  const property = (v: string) => {
    if (v === "@cohort") return put({ type: "cohort", key: "id", operator: "in", value: undefined });
    if (v === "@flag") return put({ type: "flag", key: "", operator: "flag_evaluates_to", value: true });
    const group = item.peek().filter.type === "group";
    put({ type: group ? "group" : "person", key: v === words.distinctID ? "distinct_id" : v, ...(["cohort", "flag"].includes(item.peek().filter.type ?? "") ? { operator: "exact", value: [] } : {}) });
  };
  const operator = (op: string) => {
    const was = valueTexts(item.peek().filter.value);
    put({ operator: op, value: valueless.has(op) ? op : multiValued.has(op) ? was.filter((v) => !valueless.has(v)) : (was[0] ?? "") });
  };
  const add = (v: string) => {
    const now = item.peek().filter;
    if (now.type === "cohort") return put({ value: Number(v) });
    if (now.type === "flag") return put({ value: v === "true" ? true : v === "false" ? false : v });
    put({ value: multiValued.has(now.operator ?? "exact") ? [...new Set([...valueTexts(now.value), v])] : v });
  };
  const chips = computed(() => (multiValued.has(f().operator ?? "exact") || f().type === "cohort") && f().type !== "flag");
  const removeValue = (v: string) => put({ value: Array.isArray(item.peek().filter.value) ? (item.peek().filter.value as unknown[]).filter((x) => valueTexts(x)[0] !== v) : undefined });
  const all = () => (chips() ? valueTexts(f().value) : []);
  const edit = async () => {
    const value = await editList(all());
    if (value) put({ value });
  };
  const one = (many: boolean) =>
    combobox({ label: words.value, value: () => (many ? "" : (valueTexts(f().value)[0] ?? "")), options: (typed) => values(item.peek().filter, typed), change: add, free: true, many, placeholder: words.value, disabled: locked });
  return h(
    "div",
    { role: "group", "aria-label": () => words.filter(n()), class: "filter" },
    combobox({ label: words.property, value: shownKey, options: (typed) => propertyNames(typed, f().type === "group" ? "group" : "person", flags), change: property, free: true, placeholder: words.property, disabled: locked }),
    when(() => f().type === "flag", () => h("input", { type: "text", "aria-label": words.flag, placeholder: words.flag, value: () => f().key, disabled: locked, onchange: (e: Event) => put({ key: (e.target as HTMLInputElement).value.trim() }) })),
    select(() => f().operator ?? "exact", () => operatorsOf(f()), operator, { "aria-label": words.operator, disabled: locked }),
    h(
      "div",
      { class: "values" },
      each(() => all().slice(0, maxShownValues), (v) => v, (v) => h("span", { class: "chip" }, h("bdi", null, v), h("button", { type: "button", "aria-label": () => words.removeValue(v()), disabled: locked, onclick: () => removeValue(v.peek()) }, icon("close")))),
      when(() => all().length > maxShownValues, () => [h("span", { class: "meta" }, () => words.moreValues(all().length - maxShownValues)), button(words.editList, { kind: "small", disabled: locked, run: edit })]),
      when(() => !valueless.has(f().operator ?? "") && chips(), () => one(true)),
      when(() => !valueless.has(f().operator ?? "") && !chips(), () => one(false)),
    ),
    h("button", { type: "button", class: "button quiet icon-only", "aria-label": words.removeFilter, title: words.removeFilter, disabled: locked, onclick: () => act.remove(item.peek().id) }, icon("close")),
    () => (finished() ? faults().map((text) => h("p", { class: "fault" }, text)) : null),
  );
}
