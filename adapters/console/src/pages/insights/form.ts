// The form of an insight: its kind, its series and formulas, its filters, and how they are counted and drawn.
import { computed, each, h, when, type Child, type Signal } from "../../ui/dom";
import { comboboxField } from "../../ui/combobox";
import { icon } from "../../ui/icons";
import { field, select } from "../../ui/parts";
import { chosenDays, isDay, newBreakdown, newFormula, newSeries, supports, type BreakdownDraft, type FormulaDraft, type InsightDraft } from "../../api/insightquery";
import { chosenTypes, sameProperty, type PropertyNames } from "../../api/properties";
import { words } from "../../words";
import { insightWords } from "../../words/insights";
import { filterList, insightFilters } from "./filters";
import { choices, seriesRow } from "./series";

export interface InsightForm {
  draft: Signal<InsightDraft>;
  names: PropertyNames;
  nameFault: () => string | undefined;
  locked: () => boolean;
  isNew: boolean;
}

const maxSeries = 26;
const maxFormulas = 10;
const maxCohorts = 10;

export function insightForm(f: InsightForm): Child {
  const { draft, locked } = f;
  const put = (change: Partial<InsightDraft>) => draft.update((d) => ({ ...d, ...change }));
  const kind = computed(() => draft().kind);
  const name: HTMLInputElement = h("input", { type: "text", maxlength: 400, value: () => draft().name, disabled: locked, "data-first-focus": f.isNew ? "" : null, oninput: () => put({ name: name.value }) });
  const choice = (label: string, member: "kind" | "period" | "interval" | "chart" | "compare", known: Record<string, string>) =>
    field(select(() => draft()[member], () => choices(known, draft()[member], member === "period" ? lastDays(draft().period) : undefined), (v) => put({ [member]: v }), { disabled: locked }), { label });
  const series = () => (supports.several(kind()) ? draft().series : draft().series.slice(0, 1));
  const canAdd = () => supports.several(kind()) && draft().series.length < (kind() === "RetentionQuery" ? 2 : maxSeries);
  return [
    h("div", { class: "fields" }, field(name, { label: insightWords.name, fault: f.nameFault }), choice(insightWords.kind, "kind", insightWords.kinds)),
    h("div", { class: "fields lines" }, each(series, (s) => s.id, (s) => seriesRow(s, f)), when(canAdd, () => addButton(insightWords.addSeries, locked, () => put({ series: [...draft.peek().series, newSeries()] })))),
    when(() => supports.formulas(kind()), () => formulas(f)),
    filters(f),
    when(() => supports.breakdowns(kind()), () => breakdowns(f)),
    h(
      "div",
      { class: "fields" },
      choice(insightWords.period, "period", { ...insightWords.periods, ...insightWords.morePeriods }),
      when(() => draft().period === chosenDays, () => [day(f, "from", insightWords.from), day(f, "to", insightWords.to)]),
      when(() => supports.interval(kind()), () => choice(insightWords.interval, "interval", insightWords.intervals)),
      when(() => supports.compare(kind()), () => choice(insightWords.compareWith, "compare", insightWords.compared)),
      when(() => supports.chart(kind()), () => choice(insightWords.chart, "chart", insightWords.charts)),
    ),
  ];
}

/** Returns the text of a period such as -29d. */
function lastDays(period: string): string | undefined {
  const n = /^-(\d{1,4})d$/.exec(period)?.[1];
  return n && insightWords.lastDays(Number(n));
}

const addButton = (label: string, locked: () => boolean, run: () => void) => h("button", { type: "button", class: "button small", disabled: locked, onclick: run }, icon("plus"), label);

function day(f: InsightForm, member: "from" | "to", label: string): HTMLElement {
  const input: HTMLInputElement = h("input", { type: "text", maxlength: 10, class: "share", placeholder: "2026-01-31", value: () => f.draft()[member], disabled: f.locked, onchange: () => f.draft.update((d) => ({ ...d, [member]: input.value.trim() })) });
  return field(input, { label, fault: () => (f.draft()[member] && !isDay(f.draft()[member]) ? insightWords.noDay : undefined) });
}

/** Returns the formulas. A trend with formulas shows them in place of its series. */
function formulas(f: InsightForm): HTMLElement {
  const { draft, locked } = f;
  const put = (change: (all: FormulaDraft[]) => FormulaDraft[]) => draft.update((d) => ({ ...d, formulas: change(d.formulas) }));
  const row = (item: Signal<FormulaDraft>) => {
    const { id } = item.peek();
    const n = () => draft().formulas.findIndex((x) => x.id === id) + 1;
    const set = (change: Partial<FormulaDraft>) => put((all) => all.map((x) => (x.id === id ? { ...x, ...change } : x)));
    const text: HTMLInputElement = h("input", { type: "text", maxlength: 500, class: "code", spellcheck: "false", placeholder: insightWords.formulaHint, value: () => item().text, disabled: locked, onchange: () => set({ text: text.value }) });
    const name: HTMLInputElement = h("input", { type: "text", maxlength: 400, value: () => item().name, disabled: locked, onchange: () => set({ name: name.value }) });
    return h(
      "div",
      { role: "group", "aria-label": () => insightWords.formulaN(n()) },
      field(text, { label: insightWords.formula }),
      when(() => item().text !== "", () => field(name, { label: insightWords.formulaName })),
      when(() => draft().formulas.length > 1, () => h("button", { type: "button", class: "button quiet icon-only", "aria-label": () => insightWords.removeFormula(n()), disabled: locked, onclick: () => put((all) => all.filter((x) => x.id !== id)) }, icon("close"))),
    );
  };
  const canAdd = () => draft().formulas.length < maxFormulas && draft().formulas.every((x) => x.text);
  return h("div", { class: "fields lines" }, each(() => draft().formulas, (x) => x.id, row), when(canAdd, () => addButton(insightWords.addFormula, locked, () => put((all) => [...all, newFormula()]))));
}

function filters(f: InsightForm): HTMLElement {
  const { draft, locked, names } = f;
  const test: HTMLInputElement = h("input", { type: "checkbox", checked: () => draft().testAccounts, disabled: locked, onchange: () => draft.update((d) => ({ ...d, testAccounts: test.checked })) });
  return h(
    "div",
    { role: "group", "aria-label": insightWords.filters, class: "fields lines" },
    when(() => draft().filters === null, () => h("p", { class: "meta" }, insightWords.otherFilters)),
    when(() => draft().filters !== null, () => [
      when(() => draft().filters!.length > 1, () => field(select(() => (draft().any ? "any" : "all"), () => [["all", insightWords.allFilters], ["any", insightWords.anyFilter]], (v) => draft.update((d) => ({ ...d, any: v === "any" })), { disabled: locked }), { label: insightWords.match })),
      filterList({ filters: () => draft().filters ?? [], put: (list) => draft.update((d) => ({ ...d, filters: list })), add: words.addFilter, source: insightFilters(names), locked }),
    ]),
    h("label", { class: "check" }, test, insightWords.testAccounts),
  );
}

function breakdowns(f: InsightForm): HTMLElement {
  const { draft, locked, names } = f;
  const put = (change: (all: BreakdownDraft[]) => BreakdownDraft[]) => draft.update((d) => ({ ...d, breakdowns: change(d.breakdowns) }));
  const n = (id: number) => draft().breakdowns.findIndex((x) => x.id === id) + 1;
  const first = () => draft().breakdowns[0]?.property;
  const isByCohort = () => first()?.type === "cohort" && first()?.key !== "";
  const most = () => (draft().kind !== "RetentionQuery" && isByCohort() ? maxCohorts : supports.breakdowns(draft().kind));
  /** Cohorts are not combined with properties, and retention is not by groups. */
  const types = (id: number) => (n(id) > 1 ? (isByCohort() ? ["cohort"] : chosenTypes.filter((t) => t !== "cohort")) : chosenTypes).filter((t) => t !== "group" || draft().kind !== "RetentionQuery");
  const set = async (id: number, text: string) => {
    const property = await names.find(text, types(id));
    put((all) => {
      const next = all.map((x) => (x.id === id && !sameProperty(x.property, property) ? { ...x, property, was: null } : x));
      return next[0]!.property.key ? next : [next[0]!];
    });
  };
  const box = (item: Signal<BreakdownDraft>) => {
    const { id } = item.peek();
    return h(
      "div",
      { class: "breakdown" },
      comboboxField({
        label: n(id) > 1 ? insightWords.breakDownByN(n(id)) : insightWords.breakDownBy,
        value: () => names.text(item().property),
        options: async (typed) => [...(n(id) > 1 ? [] : [{ value: "", text: insightWords.nothing }]), ...(await names.suggest(typed, types(id)))],
        change: (v) => void set(id, v),
        free: true,
        placeholder: insightWords.nothing,
        disabled: locked,
      }),
      when(() => n(id) > 1, () => h("button", { type: "button", class: "button quiet icon-only", "aria-label": () => insightWords.removeBreakdown(n(id)), disabled: locked, onclick: () => put((all) => all.filter((x) => x.id !== id)) }, icon("close"))),
    );
  };
  const shown = () => draft().breakdowns.slice(0, most());
  const canAdd = () => shown().length < most() && shown().every((x) => x.property.key);
  const limit: HTMLInputElement = h("input", { type: "number", min: 1, max: 1000, placeholder: "25", class: "share", value: () => draft().limit, disabled: locked, onchange: () => draft.update((d) => ({ ...d, limit: limit.value })) });
  return h(
    "div",
    { class: "fields" },
    each(shown, (x) => `${n(x.id)} ${x.id}`, box), // the label has the number
    when(canAdd, () => addButton(insightWords.addBreakdown, locked, () => put((all) => [...all, newBreakdown()]))),
    when(() => first()?.key && !isByCohort(), () => field(limit, { label: insightWords.breakdownLimit })),
  );
}
