// The form of a series of an insight, or a step of a funnel: its event, how it is counted, and its filters.
import { h, when, type Signal } from "../../ui/dom";
import { comboboxField } from "../../ui/combobox";
import { icon } from "../../ui/icons";
import { field, select } from "../../ui/parts";
import { eventNames } from "../../api/events";
import { propertyMaths, supports, type Series } from "../../api/insightquery";
import { words } from "../../words";
import { insightWords } from "../../words/insights";
import type { InsightForm } from "./form";
import { filterList, insightFilters } from "./filters";

/** Returns the known options, and the current value if it is not one of them. */
export const choices = (known: Record<string, string>, now: string, text = now): [string, string][] => [...Object.entries(known), ...(now in known ? [] : [[now, text] as [string, string]])];

const countedTypes = ["event", "person"];

/** The letter of a series in formulas. */
export const letter = (n: number) => String.fromCharCode(64 + n);

export function seriesRow(s: Signal<Series>, f: InsightForm): HTMLElement {
  const { draft, locked, names } = f;
  const { id } = s.peek();
  const kind = () => draft().kind;
  const n = () => draft().series.findIndex((x) => x.id === id) + 1;
  const set = (change: Partial<Series>) => draft.update((d) => ({ ...d, series: d.series.map((x) => (x.id === id ? { ...x, ...change } : x)) }));
  const remove = () => draft.update((d) => ({ ...d, series: d.series.filter((x) => x.id !== id) }));
  return h(
    "div",
    { role: "group", "aria-label": () => (kind() === "FunnelsQuery" ? insightWords.stepN(n()) : insightWords.seriesN(n())), class: "series" },
    when(() => supports.formulas(kind()) && draft().series.length > 1, () => h("span", { class: "letter", "aria-hidden": "true" }, () => letter(n()))),
    comboboxField({ label: words.event, value: () => s().event, options: eventNames, change: (event) => set({ event }), free: true, placeholder: insightWords.everyEvent, disabled: locked }),
    when(() => supports.math(kind()), () => field(select(() => s().math, () => choices(insightWords.maths, s().math), (math) => set({ math }), { disabled: locked }), { label: insightWords.count })),
    when(() => supports.math(kind()) && propertyMaths.has(s().math), () =>
      comboboxField({ label: insightWords.countedProperty, value: () => names.text(s().property), options: (typed) => names.suggest(typed, countedTypes), change: (v) => void names.find(v, countedTypes).then((property) => set({ property })), free: true, disabled: locked }),
    ),
    when(() => draft().series.length > 1 && supports.several(kind()), () => h("button", { type: "button", class: "button quiet icon-only", "aria-label": () => insightWords.removeSeries(n()), disabled: locked, onclick: remove }, icon("close"))),
    filterList({ filters: () => s().filters, put: (filters) => set({ filters }), add: insightWords.addFilterShort, addLabel: () => (kind() === "FunnelsQuery" ? insightWords.addFilterToStep(n()) : insightWords.addFilterTo(n())), source: insightFilters(names), locked }),
  );
}
