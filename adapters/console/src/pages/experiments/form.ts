// The form of an experiment: its variants and its first metric.
import { computed, each, h, when, type Child, type Signal } from "../../ui/dom";
import { comboboxField } from "../../ui/combobox";
import { icon } from "../../ui/icons";
import { field, select } from "../../ui/parts";
import { eventNames } from "../../api/events";
import { metricDraft, metricOf, type Experiment, type Metric, type MetricDraft } from "../../api/experiments";
import { canonicalJSON } from "../../api/draft";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";

export interface VariantDraft {
  id: number;
  key: string;
  share: string;
}

export interface ExperimentDraft {
  name: string;
  flag: string;
  hypothesis: string;
  variants: VariantDraft[];
  /** Null if the form does not support the first metric. */
  metric: MetricDraft | null;
}

let ids = Date.now(); // restored drafts have lower ids
const variant = (key: string, share: number): VariantDraft => ({ id: ++ids, key, share: String(share) });

export const emptyExperiment = (): ExperimentDraft => ({ name: "", flag: "", hypothesis: "", variants: [variant("control", 50), variant("test", 50)], metric: { event: "", kind: "share" } });

export function experimentDraft(e: Experiment): ExperimentDraft {
  const first = e.metrics?.[0];
  return {
    name: e.name,
    flag: e.feature_flag_key,
    hypothesis: e.description ?? "",
    variants: (e.parameters?.feature_flag_variants ?? []).map((v) => variant(v.key, v.rollout_percentage)),
    metric: first ? (metricDraft(first) ?? null) : { event: "", kind: "share" },
  };
}

/** Returns the metrics of a draft. The form changes the first one; the others are kept. */
export function metricsOf(d: ExperimentDraft, was: Metric[]): Metric[] {
  if (!d.metric) return was;
  const before = was[0] && metricDraft(was[0]);
  if (before && canonicalJSON(before) === canonicalJSON({ ...d.metric, event: d.metric.event.trim() })) return was;
  return [...(d.metric.event.trim() ? [metricOf(d.metric, was[0])] : []), ...was.slice(1)];
}

export const variantsOf = (d: ExperimentDraft) => d.variants.map((v) => ({ key: v.key.trim(), rollout_percentage: Number(v.share) || 0 }));

/** Returns the faults of a draft, by field. */
export function experimentFaults(d: ExperimentDraft): Record<string, string> {
  const out: Record<string, string> = {};
  if (!d.name.trim()) out.name = experimentWords.nameWanted;
  if (!/^[\w-]+$/.test(d.flag.trim())) out.flag = experimentWords.keyWanted;
  if (d.metric && !d.metric.event.trim()) out.metric = experimentWords.eventWanted;
  const sum = d.variants.reduce((a, v) => a + (Number(v.share) || 0), 0);
  if (Math.abs(sum - 100) > 0.01) out.variants = words.sharesWrong(sum);
  return out;
}

export interface ExperimentForm {
  draft: Signal<ExperimentDraft>;
  faults: () => Record<string, string>;
  locked: () => boolean;
  /** Reports whether the variants are fixed, which they are after the launch. */
  fixed: () => boolean;
  isNew: boolean;
  others: string[];
}

export function experimentForm(f: ExperimentForm): Child {
  const { draft, locked } = f;
  const put = (change: Partial<ExperimentDraft>) => draft.update((d) => ({ ...d, ...change }));
  const text = (member: "name" | "flag" | "hypothesis", label: string, o: { hint?: string; first?: boolean; off?: boolean; maxLength: number }) => {
    const input: HTMLInputElement = h("input", { type: "text", maxlength: o.maxLength, value: () => draft()[member], disabled: () => locked() || o.off === true, "data-first-focus": o.first ? "" : null, oninput: () => put({ [member]: input.value }) });
    return field(input, { label, fault: () => f.faults()[member], ...(o.hint ? { hint: o.hint } : {}) });
  };
  const metric = computed(() => draft().metric);
  const setMetric = (change: Partial<MetricDraft>) => put({ metric: { ...draft.peek().metric!, ...change } });
  return h(
    "div",
    { class: "stack form-narrow" },
    text("name", experimentWords.name, { first: f.isNew, maxLength: 400 }),
    text("flag", experimentWords.flagKey, { off: !f.isNew, maxLength: 400, ...(f.isNew ? { hint: experimentWords.flagKeyHint } : {}) }),
    text("hypothesis", experimentWords.hypothesis, { maxLength: 3000 }),
    h("h2", null, experimentWords.variants),
    h("p", { class: "meta" }, experimentWords.firstControl),
    each(() => draft().variants, (v) => v.id, (v) => variantRow(v, f)),
    () => (f.faults().variants ? h("p", { class: "fault", role: "alert" }, f.faults().variants) : null),
    when(() => !f.fixed(), () => h("div", null, h("button", { type: "button", class: "button small", disabled: locked, onclick: () => addVariant(draft) }, icon("plus"), words.addVariant))),
    h("h2", null, experimentWords.metric),
    when(metric, () =>
      h(
        "div",
        { class: "fields" },
        comboboxField({ label: experimentWords.metricEvent, value: () => metric()?.event ?? "", options: eventNames, change: (event) => setMetric({ event }), free: true, disabled: locked }),
        field(select(() => metric()?.kind ?? "share", () => [["share", experimentWords.shareOfPeople], ["count", experimentWords.countPerPerson]], (v) => setMetric({ kind: v as MetricDraft["kind"] }), { disabled: locked }), { label: experimentWords.metricKind }),
      ),
    ),
    () => (f.faults().metric ? h("p", { class: "fault", role: "alert" }, f.faults().metric) : null),
    f.others.length ? h("p", { class: "meta" }, experimentWords.otherMetrics(f.others.join(", "))) : null,
  );
}

/** Adds a variant and distributes the shares equally. */
function addVariant(draft: Signal<ExperimentDraft>): void {
  const d = draft.peek();
  const keys = new Set(d.variants.map((v) => v.key));
  let n = d.variants.length;
  while (keys.has(`test-${n}`)) n++;
  draft.set({ ...d, variants: equal([...d.variants, variant(`test-${n}`, 0)]) });
}

function equal(list: VariantDraft[]): VariantDraft[] {
  const share = Math.floor(10000 / list.length) / 100;
  return list.map((v, i) => ({ ...v, share: String(i ? share : Math.round((100 - share * (list.length - 1)) * 100) / 100) }));
}

function variantRow(v: Signal<VariantDraft>, f: ExperimentForm): HTMLElement {
  const { draft } = f;
  const { id } = v.peek();
  const n = () => draft().variants.findIndex((x) => x.id === id) + 1;
  const set = (change: Partial<VariantDraft>) => draft.update((d) => ({ ...d, variants: d.variants.map((x) => (x.id === id ? { ...x, ...change } : x)) }));
  const off = () => f.locked() || f.fixed();
  const key: HTMLInputElement = h("input", { type: "text", value: () => v().key, disabled: () => off() || n() === 1, oninput: () => set({ key: key.value }) });
  const share: HTMLInputElement = h("input", { type: "number", min: 0, max: 100, step: "any", class: "share", value: () => v().share, disabled: off, oninput: () => set({ share: share.value }) });
  return h(
    "div",
    { role: "group", "aria-label": () => words.variantN(n()), class: "fields variant" },
    field(key, { label: words.variantKey }),
    field(share, { label: words.share }),
    when(() => draft().variants.length > 2 && n() > 1 && !f.fixed(), () => h("button", { type: "button", class: "button quiet icon-only", "aria-label": words.removeVariant, title: words.removeVariant, disabled: off, onclick: () => draft.update((d) => ({ ...d, variants: equal(d.variants.filter((x) => x.id !== id)) })) }, icon("close"))),
  );
}
