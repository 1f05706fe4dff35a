// The form of one metric: its kind, the events that it counts, and how they are counted.
import { computed, each, h, when, type Child, type Signal } from "../../ui/dom";
import { comboboxField, type Option } from "../../ui/combobox";
import { icon } from "../../ui/icons";
import { faultAlert, field, select } from "../../ui/parts";
import { get } from "../../api/client";
import { eventNames } from "../../api/events";
import { newSource, ofProperty, withKind, type MetricDraft, type MetricKind, type SourceDraft } from "../../api/metrics";
import { projectPath } from "../../session";
import { metricWords } from "../../words/metrics";

/** Returns the fault of a metric that can be found without the server. */
export function metricFault(d: MetricDraft): string | undefined {
  if (d.kind === "other") {
    try {
      JSON.parse(d.json);
      return undefined;
    } catch (e) {
      return metricWords.jsonWrong((e as Error).message);
    }
  }
  const sources = d.kind === "retention" && d.fromExposure ? d.sources.slice(1) : d.sources;
  if (sources.some((s) => !s.event.trim() && !s.was)) return metricWords.eventWanted;
  if (sources.some((s) => ofProperty.includes(s.math) && !s.property.trim())) return metricWords.propertyWanted;
  if (d.window.trim() && !(Number.isInteger(Number(d.window)) && Number(d.window) >= 1)) return metricWords.windowWrong;
  const [from, to] = [Number(d.from), Number(d.to)];
  if (d.kind === "retention" && !(Number.isInteger(from) && Number.isInteger(to) && from >= 0 && to >= from)) return metricWords.returnWrong;
  return undefined;
}

const propertyNames = (typed: string): Promise<Option[]> =>
  get<{ results: { name: string }[] }>(projectPath("property_definitions/"), { type: "event", search: typed, limit: 20 }).then((l) => l.results.map((p) => ({ value: p.name, text: p.name })));

export interface MetricForm {
  metric: () => MetricDraft;
  change: (change: Partial<MetricDraft>) => void;
  locked: () => boolean;
  /** Whether the metric has no name of its own, because it is stored under a name. */
  unnamed?: boolean;
}

export function metricForm(f: MetricForm): Child {
  const { metric, change, locked } = f;
  const kind = computed(() => metric().kind);
  const setSource = (id: number, now: Partial<SourceDraft>) => change({ sources: metric().sources.map((s) => (s.id === id ? { ...s, ...now } : s)) });
  const choice = (label: string, member: "unit" | "order" | "returnUnit" | "startHandling" | "goal", known: Record<string, string>) =>
    field(select(() => metric()[member], () => Object.entries(known), (v) => change({ [member]: v }), { disabled: locked }), { label });
  const figure = (label: string, member: "window" | "from" | "to", min: number, hint?: string) => {
    const input: HTMLInputElement = h("input", { type: "number", min, step: 1, class: "share", value: () => metric()[member], disabled: locked, oninput: () => change({ [member]: input.value }) });
    return field(input, { label, ...(hint ? { hint } : {}) });
  };
  const kinds = () => [...Object.entries(metricWords.kinds), ...(kind() === "other" ? [["other", metricWords.otherKind] as const] : [])];
  const name: HTMLInputElement = h("input", { type: "text", maxlength: 400, value: () => metric().name, disabled: locked, oninput: () => change({ name: name.value }) });
  const json: HTMLTextAreaElement = h("textarea", { rows: 8, class: "code", spellcheck: "false", value: () => metric().json, disabled: locked, oninput: () => change({ json: json.value }) });
  const source = (i: number, label: string, allowed: string[] | null) => sourceFields(() => metric().sources[i] ?? newSource(), label, allowed, setSource, locked);
  const kindField = () => field(select(kind, kinds, (v) => change(withKind(metric(), v as MetricKind)), { disabled: locked }), { label: metricWords.kind });
  return [
    h(
      "div",
      { class: "fields" },
      when(() => kind() === "share", () => source(0, metricWords.event, null)),
      when(() => kind() === "count", () => source(0, metricWords.event, ["total", "unique_session"])),
      when(() => kind() === "value", () => source(0, metricWords.event, ofProperty)),
      kindField(),
      f.unnamed ? null : field(name, { label: metricWords.name }),
    ),
    when(() => kind() === "share" && metric().sources.length > 1, () => h("div", { class: "stack gap" }, each(() => metric().sources.slice(1), (s) => s.id, (s) => step(s, f, setSource)))),
    when(() => kind() === "share", () =>
      h(
        "div",
        { class: "fields" },
        h("button", { type: "button", class: "button small", disabled: () => locked() || metric().sources.length >= 20, onclick: () => change({ sources: [...metric().sources, newSource()] }) }, icon("plus"), metricWords.addStep),
        when(() => metric().sources.length > 1, () => choice(metricWords.order, "order", metricWords.orders)),
      ),
    ),
    when(() => kind() === "ratio", () => [metricWords.numerator, metricWords.denominator].map((label, i) => h("div", { role: "group", "aria-label": label, class: "fields" }, h("strong", { class: "label" }, label), source(i, metricWords.event, ["total", "unique_session", ...ofProperty])))),
    when(() => kind() === "retention", () => [
      h(
        "div",
        { class: "fields" },
        field(select(() => (metric().fromExposure ? "exposure" : "event"), () => Object.entries(metricWords.starts), (v) => change({ fromExposure: v === "exposure" }), { disabled: locked }), { label: metricWords.start }),
        when(() => !metric().fromExposure, () => [source(0, metricWords.startEvent, null), choice(metricWords.startHandling, "startHandling", metricWords.startHandlings)]),
      ),
      h("div", { class: "fields" }, source(1, metricWords.returnEvent, null), figure(metricWords.from, "from", 0), figure(metricWords.to, "to", 0), choice(metricWords.returnUnit, "returnUnit", metricWords.returnUnits)),
    ]),
    when(() => kind() === "other", () => field(json, { label: metricWords.json })),
    when(() => kind() !== "other", () => h("div", { class: "fields" }, choice(metricWords.goal, "goal", metricWords.goals), figure(metricWords.window, "window", 1, metricWords.windowHint), when(() => metric().window.trim() !== "", () => choice(metricWords.unit, "unit", metricWords.units)))),
    when(() => metric().sources.some((s) => Array.isArray(s.was?.properties) && s.was.properties.length > 0), () => h("p", { class: "meta" }, metricWords.filtered)),
  ];
}

/** Returns the fields of one event. allowed are the ways of counting that can be chosen; null: it is not counted. */
function sourceFields(s: () => SourceDraft, label: string, allowed: string[] | null, set: (id: number, now: Partial<SourceDraft>) => void, locked: () => boolean): Child {
  const put = (now: Partial<SourceDraft>) => set(s().id, now);
  return [
    comboboxField({ label, value: () => s().event, options: eventNames, change: (event) => put({ event }), free: true, disabled: locked }),
    allowed ? field(select(() => s().math, () => allowed.map((m) => [m, metricWords.maths[m]!] as const), (math) => put({ math }), { disabled: locked }), { label: metricWords.counted }) : null,
    when(() => ofProperty.includes(s().math), () => comboboxField({ label: metricWords.property, value: () => s().property, options: propertyNames, change: (property) => put({ property }), free: true, disabled: locked })),
  ];
}

function step(s: Signal<SourceDraft>, f: MetricForm, set: (id: number, now: Partial<SourceDraft>) => void): HTMLElement {
  const { id } = s.peek();
  const n = () => f.metric().sources.findIndex((x) => x.id === id) + 1;
  return h(
    "div",
    { role: "group", "aria-label": () => metricWords.stepN(n()), class: "fields" },
    sourceFields(s, metricWords.event, null, set, f.locked),
    h("button", { type: "button", class: "button quiet icon-only", "aria-label": () => metricWords.removeStepN(n()), title: () => metricWords.removeStepN(n()), disabled: f.locked, onclick: () => f.change({ sources: f.metric().sources.filter((x) => x.id !== id) }) }, icon("close")),
  );
}

export interface MetricList {
  /** The heading of each metric, by its number. */
  title: (n: number) => string;
  list: () => MetricDraft[];
  set: (list: MetricDraft[]) => void;
  locked: () => boolean;
  /** The faults by the id of a metric. */
  faults: () => Record<number, string>;
}

/** Returns the forms of several metrics, each in a group. */
export function metricList(l: MetricList): Child {
  return each(l.list, (m) => m.id, (m) => {
    const { id } = m.peek();
    const n = () => l.list().findIndex((x) => x.id === id) + 1;
    const title = () => l.title(n());
    return h(
      "div",
      { role: "group", "aria-label": title, class: "condition" },
      h(
        "div",
        { class: "condition-head" },
        h("strong", { "aria-hidden": "true" }, title),
        h("span", { class: "space" }),
        h("button", { type: "button", class: "button quiet icon-only", "aria-label": metricWords.remove, title: metricWords.remove, disabled: l.locked, onclick: () => l.set(l.list().filter((x) => x.id !== id)) }, icon("close")),
      ),
      h("div", { class: "condition-body" }, metricForm({ metric: m, change: (c) => l.set(l.list().map((x) => (x.id === id ? { ...x, ...c } : x))), locked: l.locked }), faultAlert(() => l.faults()[id], "fault")),
    );
  });
}
