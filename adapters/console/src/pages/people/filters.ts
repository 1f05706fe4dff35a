// Filters of people by their properties. They are in the address.
import { computed, effect, each, h, signal, untracked, type Child } from "../../ui/dom";
import { icon } from "../../ui/icons";
import { ApiError } from "../../api/client";
import { newFilter, valueTexts, type FilterDraft } from "../../api/draft";
import type { Filter } from "../../api/flags";
import { param, setParams } from "../../router";
import { words } from "../../words";
import { personWords } from "../../words/personflags";
import { filterRow } from "../flag/filter";

const name = "property"; // of the parameter in the address
const draft = (filter: Filter): FilterDraft => ({ ...newFilter(), filter });

const neededValues: Record<string, number> = { is_set: 0, is_not_set: 0, between: 2, not_between: 2 };
const isComplete = (f: Filter) => f.key !== "" && valueTexts(f.value).filter(Boolean).length >= (neededValues[f.operator ?? "exact"] ?? 1);

/** Returns the filters in the address: a JSON list, or a single one such as plan=pro. */
function filtersOf(text: string): Filter[] {
  const [key, ...rest] = text.split("=");
  if (!text.startsWith("[")) return key && rest.length ? [{ key: key.trim(), type: "person", operator: "exact", value: [rest.join("=").trim()] }] : [];
  try {
    const list = JSON.parse(text) as Filter[];
    return list.filter((f) => typeof f?.key === "string").map((f) => ({ key: f.key, type: "person", operator: f.operator ?? "exact", value: f.value }));
  } catch {
    return [];
  }
}

const textOf = (list: readonly Filter[]) => (list.length ? JSON.stringify(list) : "");

/** Returns the complete filters as JSON for the API, or "". */
export const propertiesInAddress = (): string => textOf(filtersOf(param(name)).filter(isComplete));

/** Returns the form of the filters. error is that of the list: what the server says about a filter is shown there. */
export function propertyFilters(error: () => unknown): Child {
  const drafts = signal<readonly FilterDraft[]>([]);
  const complete = () => drafts().filter((d) => isComplete(d.filter));
  const inAddress = computed(propertiesInAddress);
  effect(() => {
    const text = inAddress();
    untracked(() => text !== textOf(complete().map((d) => d.filter)) && drafts.set(filtersOf(text).map(draft)));
  });
  const put = (list: readonly FilterDraft[]) => {
    drafts.set(list);
    const text = textOf(complete().map((d) => d.filter));
    if (text !== propertiesInAddress()) setParams({ [name]: text });
  };
  const act = {
    change: (id: number, filter: Filter) => put(drafts.peek().map((d) => (d.id === id ? { ...d, filter } : d))),
    remove: (id: number) => put(drafts.peek().filter((d) => d.id !== id)),
  };
  const faults = (id: number) => {
    const e = error();
    const [, i, text] = (e instanceof ApiError && /^properties\[(\d+)\]\.(.*)$/s.exec(e.detail)) || [];
    return text && complete()[Number(i)]?.id === id ? [text] : [];
  };
  return h(
    "div",
    { role: "group", "aria-label": personWords.filters, class: "stack gap" },
    each(drafts, (d) => d.id, (d) => filterRow(d, () => drafts().findIndex((x) => x.id === d().id) + 1, act, () => false, "properties", () => faults(d().id))),
    h("div", null, h("button", { type: "button", class: "button small", onclick: () => drafts.update((list) => [...list, newFilter()]) }, icon("plus"), words.addFilter)),
  );
}
