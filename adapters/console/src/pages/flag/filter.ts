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

/** What the properties and values of filters are, which depends on where the filters are. */
export interface FilterSource {
  /** Suggests properties for a typed text. */
  properties(typed: string, now: Filter): Promise<Option[]>;
  /** Returns a filter for the property that was chosen or typed. */
  choose(property: string, now: Filter): Filter | Promise<Filter>;
  /** Returns the text of a filter's property. */
  text(f: Filter): string;
  values(f: Filter, typed: string): Promise<Option[]>;
}

export const newCohortFilter = (now: Filter): Filter => ({ ...withoutGroup(now), type: "cohort", key: "id", operator: "in", value: undefined });

function withoutGroup(f: Filter): Filter {
  const { group_type_index: _, ...rest } = f;
  return rest;
}

/** Returns a filter for another property of the same or another kind. Values of a cohort or a flag are dropped. */
export function withProperty(now: Filter, type: string, key: string, group?: number): Filter {
  const fresh = ["cohort", "flag"].includes(now.type ?? "") ? { operator: "exact", value: [] } : {};
  return { ...withoutGroup(now), type, key, ...(group === undefined ? {} : { group_type_index: group }), ...fresh };
}

/** What filters of people can be about: properties, for cohorts also other cohorts and the distinct id, and for flags also other flags. */
export type FilterOffer = "properties" | "cohorts" | "flags";

const personFilters = (offer: FilterOffer): FilterSource => ({
  properties: (typed, now) => propertyNames(typed, now.type === "group" ? "group" : "person", offer),
  choose(v, now) {
    if (v === "@cohort") return newCohortFilter(now);
    if (v === "@flag") return { ...now, type: "flag", key: "", operator: "flag_evaluates_to", value: true };
    return withProperty(now, now.type === "group" ? "group" : "person", v === words.distinctID ? "distinct_id" : v, now.type === "group" ? now.group_type_index : undefined);
  },
  text: (f) => (f.type === "cohort" ? words.inCohort : f.type === "flag" ? words.anotherFlag : f.key === "distinct_id" ? words.distinctID : f.key),
  values,
});

async function propertyNames(typed: string, type: string, offer: FilterOffer): Promise<Option[]> {
  const list = await get<List<{ name: string; property_type: string | null }>>(projectPath("property_definitions/"), { type, search: typed, limit: 20 });
  const all: Option[] = [
    { value: "@cohort", text: words.inCohort },
    ...(offer === "flags" ? [{ value: "@flag", text: words.anotherFlag }] : []),
    { value: "distinct_id", text: words.distinctID },
  ];
  const own = (offer === "properties" ? [] : all).filter((o) => o.text.toLowerCase().includes(typed.toLowerCase()));
  return [...list.results.map((p) => ({ value: p.name, text: p.name, note: p.property_type ?? "" })), ...own];
}

/** Suggests values of a property of people, cohorts, and values of a flag. */
export async function values(f: Filter, typed: string): Promise<Option[]> {
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

/** Returns the row of a filter. Faults are shown once the filter is complete. */
export function filterRow(item: Signal<FilterDraft>, n: () => number, act: FilterActions, locked: () => boolean, offer: FilterOffer | FilterSource = "flags", faults: () => string[] = () => []): HTMLElement {
  const source = typeof offer === "string" ? personFilters(offer) : offer;
  const f = () => item().filter;
  const put = (change: Partial<Filter>) => act.change(item.peek().id, { ...item.peek().filter, ...change });
  const finished = () => f().key !== "" && (f().type !== "cohort" || f().value !== undefined);
  const property = async (v: string) => {
    const before = item.peek().filter;
    const chosen = await source.choose(v, before);
    const now = item.peek().filter; // its value may have been chosen meanwhile
    act.change(item.peek().id, now === before ? chosen : { ...chosen, ...(now.operator ? { operator: now.operator } : {}), value: now.value });
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
    combobox({ label: words.value, value: () => (many ? "" : (valueTexts(f().value)[0] ?? "")), options: (typed) => source.values(item.peek().filter, typed), change: add, free: true, many, placeholder: words.value, disabled: locked });
  return h(
    "div",
    { role: "group", "aria-label": () => words.filter(n()), class: "filter" },
    combobox({ label: words.property, value: () => source.text(f()), options: (typed) => source.properties(typed, item.peek().filter), change: (v) => void property(v), free: true, placeholder: words.property, disabled: locked }),
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
