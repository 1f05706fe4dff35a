// The form of an insight: its kind, its series, and how they are counted and drawn.
import { computed, each, h, when, type Child, type Signal } from "../../ui/dom";
import { comboboxField, type Option } from "../../ui/combobox";
import { icon } from "../../ui/icons";
import { field, select } from "../../ui/parts";
import { get } from "../../api/client";
import { eventNames } from "../../api/events";
import { supports, newSeries, type InsightDraft, type Series } from "../../api/insights";
import { projectPath } from "../../session";
import { words } from "../../words";
import { insightWords } from "../../words/insights";

type List = { results: { name: string }[] };

async function breakdowns(typed: string): Promise<Option[]> {
  const bare = typed.replace(insightWords.ofPerson, "");
  const search = (type: string) => get<List>(projectPath("property_definitions/"), { type, search: bare, limit: 10 }).then((l) => l.results.map((p) => p.name));
  const [events, people] = await Promise.all([search("event"), search("person")]);
  return [{ value: "", text: insightWords.nothing }, ...people.map((n) => ({ value: n + insightWords.ofPerson, text: n + insightWords.ofPerson })), ...events.map((n) => ({ value: n, text: n }))];
}

/** Returns a breakdown with " (person)" added if only people have a property of this name. */
async function qualifiedBreakdown(name: string): Promise<string> {
  if (!name || name.endsWith(insightWords.ofPerson)) return name;
  const known = await breakdowns(name).catch(() => []);
  const isKnown = (v: string) => known.some((o) => o.value === v);
  return !isKnown(name) && isKnown(name + insightWords.ofPerson) ? name + insightWords.ofPerson : name;
}

/** Returns the known options, and the current value if it is not one of them. */
const choices = (known: Record<string, string>, now: string) => [...Object.entries(known), ...(now in known ? [] : [[now, now] as [string, string]])];

export interface InsightForm {
  draft: Signal<InsightDraft>;
  nameFault: () => string | undefined;
  locked: () => boolean;
  isNew: boolean;
}

export function insightForm(f: InsightForm): Child {
  const { draft, locked } = f;
  const put = (change: Partial<InsightDraft>) => draft.update((d) => ({ ...d, ...change }));
  const kind = computed(() => draft().kind);
  const name: HTMLInputElement = h("input", { type: "text", maxlength: 400, value: () => draft().name, disabled: locked, "data-first-focus": f.isNew ? "" : null, oninput: () => put({ name: name.value }) });
  const choice = (label: string, member: "kind" | "period" | "interval" | "chart", known: Record<string, string>) =>
    field(select(() => draft()[member], () => choices(known, draft()[member]), (v) => put({ [member]: v }), { disabled: locked }), { label });
  const series = () => (supports.several(kind()) ? draft().series : draft().series.slice(0, 1));
  return [
    h("div", { class: "fields" }, field(name, { label: insightWords.name, fault: f.nameFault }), choice(insightWords.kind, "kind", insightWords.kinds)),
    h(
      "div",
      { class: "fields" },
      each(series, (s) => s.id, (s) => seriesRow(s, f, put)),
      when(() => supports.several(kind()) && !(kind() === "RetentionQuery" && draft().series.length > 1), () => h("button", { type: "button", class: "button", disabled: locked, onclick: () => put({ series: [...draft.peek().series, newSeries()] }) }, icon("plus"), insightWords.addSeries)),
    ),
    h(
      "div",
      { class: "fields" },
      when(() => supports.breakdown(kind()), () => comboboxField({ label: insightWords.breakDownBy, value: () => draft().breakdown, options: breakdowns, change: (v) => void qualifiedBreakdown(v.trim()).then((breakdown) => put({ breakdown })), free: true, placeholder: insightWords.nothing, disabled: locked })),
      choice(insightWords.period, "period", insightWords.periods),
      when(() => supports.interval(kind()), () => choice(insightWords.interval, "interval", insightWords.intervals)),
      when(() => supports.chart(kind()), () => choice(insightWords.chart, "chart", insightWords.charts)),
    ),
  ];
}

function seriesRow(s: Signal<Series>, f: InsightForm, put: (change: Partial<InsightDraft>) => void): HTMLElement {
  const { draft, locked } = f;
  const id = s.peek().id;
  const n = () => draft().series.findIndex((x) => x.id === id) + 1;
  const set = (change: Partial<Series>) => put({ series: draft.peek().series.map((x) => (x.id === id ? { ...x, ...change } : x)) });
  const math = () => draft().kind === "TrendsQuery";
  const counts: Record<string, string> = { total: insightWords.countEvents, dau: insightWords.countPeople };
  return h(
    "div",
    { role: "group", "aria-label": () => (draft().kind === "FunnelsQuery" ? insightWords.stepN(n()) : insightWords.seriesN(n())) },
    comboboxField({ label: words.event, value: () => s().event, options: eventNames, change: (event) => set({ event }), free: true, placeholder: insightWords.everyEvent, disabled: locked }),
    when(math, () => field(select(() => s().math, () => choices(counts, s().math), (v) => set({ math: v }), { disabled: locked }), { label: insightWords.count })),
    when(() => draft().series.length > 1 && supports.several(draft().kind), () => h("button", { type: "button", class: "button quiet icon-only", "aria-label": () => insightWords.removeSeries(n()), disabled: locked, onclick: () => put({ series: draft.peek().series.filter((x) => x.id !== id) }) }, icon("close"))),
  );
}
