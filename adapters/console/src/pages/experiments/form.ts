// The form of an experiment: variants, metrics, plan, statistics, exposure and holdout.
import { each, h, when, type Child, type Signal } from "../../ui/dom";
import { comboboxField, type Option } from "../../ui/combobox";
import { icon } from "../../ui/icons";
import { faultAlert, field } from "../../ui/parts";
import { get } from "../../api/client";
import type { SharedMetric } from "../../api/experiments";
import { newMetric } from "../../api/metrics";
import { href } from "../../router";
import { project, projectPath } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { setupWords } from "../../words/experimentsetup";
import { metricWords } from "../../words/metrics";
import { newVariant, type ExperimentDraft, type Faults, type VariantDraft } from "./draft";
import { metricList } from "./metricform";
import { exposureFields, holdoutField, statisticsFields } from "./options";
import { planFields } from "./plan";

export interface ExperimentForm {
  draft: Signal<ExperimentDraft>;
  faults: () => Faults;
  locked: () => boolean;
  /** Reports whether the variants and the holdout are fixed, which they are after the launch. */
  fixed: () => boolean;
  isNew: boolean;
}

export function experimentForm(f: ExperimentForm): Child {
  const { draft, locked } = f;
  const put = (change: Partial<ExperimentDraft>) => draft.update((d) => ({ ...d, ...change }));
  const text = (member: "name" | "flag" | "hypothesis", label: string, o: { hint?: string; first?: boolean; off?: boolean; maxLength: number }) => {
    const input: HTMLInputElement = h("input", { type: "text", maxlength: o.maxLength, value: () => draft()[member], disabled: () => locked() || o.off === true, "data-first-focus": o.first ? "" : null, oninput: () => put({ [member]: input.value }) });
    return field(input, { label, fault: () => (member === "hypothesis" ? undefined : f.faults()[member]), ...(o.hint ? { hint: o.hint } : {}) });
  };
  return h(
    "div",
    { class: "stack form-narrow" },
    text("name", experimentWords.name, { first: f.isNew, maxLength: 400 }),
    text("flag", experimentWords.flagKey, { off: !f.isNew, maxLength: 400, ...(f.isNew ? { hint: experimentWords.flagKeyHint } : {}) }),
    text("hypothesis", experimentWords.hypothesis, { maxLength: 3000 }),
    h("h2", null, experimentWords.variants),
    h("p", { class: "meta" }, experimentWords.firstControl),
    each(() => draft().variants, (v) => v.id, (v) => variantRow(v, f)),
    faultAlert(() => f.faults().variants, "fault"),
    when(() => !f.fixed(), () => h("div", null, h("button", { type: "button", class: "button small", disabled: locked, onclick: () => addVariant(draft) }, icon("plus"), words.addVariant))),
    h("h2", null, metricWords.primary),
    h("p", { class: "meta" }, metricWords.primaryText, " ", h("a", { href: () => href(`p/${project()}/experiments/metrics`) }, metricWords.shared)),
    metrics(f, put, "primary", "sharedPrimary"),
    h("h2", null, metricWords.secondary),
    h("p", { class: "meta" }, metricWords.secondaryText),
    metrics(f, put, "secondary", "sharedSecondary"),
    unknownEvents(f, put),
    h("h2", null, setupWords.plan),
    planFields(draft, f.faults, locked),
    h("h2", null, setupWords.statistics),
    statisticsFields(draft, put, locked),
    h("h2", null, setupWords.exposure),
    exposureFields(draft, f.faults, put, locked),
    holdoutField(draft, put, locked, f.fixed),
  );
}

const sharedMetrics = (typed: string): Promise<Option[]> =>
  get<{ results: SharedMetric[] }>(projectPath("experiment_saved_metrics/"), { limit: 100 }).then((l) => l.results.filter((m) => m.name.toLowerCase().includes(typed.toLowerCase())).map((m) => ({ value: m.name, text: m.name, note: m.description })));

/** Returns the forms of the primary or secondary metrics, the shared metrics among them, and what adds one. */
function metrics(f: ExperimentForm, put: (change: Partial<ExperimentDraft>) => void, member: "primary" | "secondary", shared: "sharedPrimary" | "sharedSecondary"): Child {
  const { draft, locked } = f;
  const first = member === "primary";
  const addShared = async (name: string) => {
    const list = await get<{ results: SharedMetric[] }>(projectPath("experiment_saved_metrics/"), { limit: 100 });
    const found = list.results.find((m) => m.name === name.trim());
    const used = [...draft.peek().sharedPrimary, ...draft.peek().sharedSecondary];
    if (found && !used.some((m) => m.id === found.id)) put({ [shared]: [...draft.peek()[shared], { id: found.id, name: found.name }] });
  };
  return [
    metricList({ title: first ? metricWords.primaryN : metricWords.secondaryN, list: () => draft()[member], set: (list) => put({ [member]: list }), locked, faults: () => f.faults().metrics }),
    when(() => draft()[shared].length > 0, () =>
      h("ul", { class: "stack", "aria-label": first ? metricWords.sharedPrimary : metricWords.sharedSecondary }, each(() => draft()[shared], (m) => m.id, (m) =>
        h("li", { class: "actions" }, h("a", { href: () => href(`p/${project()}/experiments/metrics/${m().id}`) }, h("bdi", null, () => m().name)), h("span", { class: "meta" }, metricWords.sharedNote), h("button", { type: "button", class: "button quiet icon-only", "aria-label": () => metricWords.removeShared(m().name), title: metricWords.remove, disabled: locked, onclick: () => put({ [shared]: draft.peek()[shared].filter((x) => x.id !== m.peek().id) }) }, icon("close"))),
      )),
    ),
    h(
      "div",
      { class: "fields" },
      h("button", { type: "button", class: "button small", disabled: locked, onclick: () => put({ [member]: [...draft.peek()[member], newMetric()] }) }, icon("plus"), first ? metricWords.addPrimary : metricWords.addSecondary),
      comboboxField({ label: first ? metricWords.addSharedPrimary : metricWords.addSharedSecondary, value: () => "", options: sharedMetrics, change: (name) => void addShared(name), many: true, disabled: locked }),
    ),
  ];
}

/** Returns the control that allows metrics with events that were never captured. */
function unknownEvents({ draft, locked }: ExperimentForm, put: (change: Partial<ExperimentDraft>) => void): Child {
  const box: HTMLInputElement = h("input", { type: "checkbox", checked: () => draft().unknownEvents === true, disabled: locked, onchange: () => put({ unknownEvents: box.checked }) });
  return [h("label", { class: "check" }, box, metricWords.unknownEvents), h("p", { class: "meta" }, metricWords.unknownEventsText)];
}

/** Adds a variant and distributes the shares equally. */
function addVariant(draft: Signal<ExperimentDraft>): void {
  const d = draft.peek();
  const keys = new Set(d.variants.map((v) => v.key));
  let n = d.variants.length;
  while (keys.has(`test-${n}`)) n++;
  draft.set({ ...d, variants: equal([...d.variants, newVariant(`test-${n}`, 0)]) });
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
