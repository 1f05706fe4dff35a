// Filters of insights: on properties of events, people and groups, and on cohorts.
import { each, h, type Child } from "../../ui/dom";
import type { Option } from "../../ui/combobox";
import { icon } from "../../ui/icons";
import { get } from "../../api/client";
import { newFilter, type FilterDraft } from "../../api/draft";
import type { Filter } from "../../api/flags";
import { chosenTypes, propertyRef, type PropertyNames, type PropertyRef } from "../../api/properties";
import { projectPath } from "../../session";
import { words } from "../../words";
import { filterRow, newCohortFilter, values, withProperty, type FilterSource } from "../flag/filter";

const refOf = (f: Filter): PropertyRef => propertyRef(f.type ?? "event", f.key, f.group_type_index);
const properties = chosenTypes.filter((t) => t !== "cohort");

/** Suggests values of a property of events, those of the last seven days. Values of groups have no suggestions. */
async function insightValues(f: Filter, typed: string): Promise<Option[]> {
  if (f.type === "group" || !f.key) return [];
  if (f.type === "cohort" || f.type === "person") return values(f, typed);
  const seen = await get<{ name: string }[]>(projectPath("events/values/"), { key: f.key, value: typed });
  return seen.slice(0, 20).map((v) => ({ value: v.name, text: v.name }));
}

export const insightFilters = (names: PropertyNames): FilterSource => ({
  properties: async (typed) => [...(await names.suggest(typed, properties)), ...(words.inCohort.toLowerCase().includes(typed.toLowerCase()) ? [{ value: words.inCohort, text: words.inCohort }] : [])],
  async choose(text, now) {
    if (text === words.inCohort) return newCohortFilter(now);
    const p = await names.find(text, properties);
    return withProperty(now, p.type, p.key, p.group);
  },
  text: (f) => (f.type === "cohort" ? words.inCohort : names.text(refOf(f))),
  values: insightValues,
});

/** Returns the rows of filters and a button that adds one. */
export function filterList(o: { filters: () => readonly FilterDraft[]; put: (filters: FilterDraft[]) => void; add: Child; addLabel?: () => string; source: FilterSource; locked: () => boolean }): Child {
  const act = {
    change: (id: number, filter: Filter) => o.put(o.filters().map((f) => (f.id === id ? { ...f, filter } : f))),
    remove: (id: number) => o.put(o.filters().filter((f) => f.id !== id)),
  };
  const add = () => o.put([...o.filters(), { id: newFilter().id, filter: { key: "", type: "event", operator: "exact", value: [] } }]);
  return [
    each(o.filters, (f) => f.id, (f) => filterRow(f, () => o.filters().findIndex((x) => x.id === f().id) + 1, act, o.locked, o.source)),
    h("button", { type: "button", class: "button small", "aria-label": o.addLabel ?? null, disabled: o.locked, onclick: add }, icon("plus"), o.add),
  ];
}
