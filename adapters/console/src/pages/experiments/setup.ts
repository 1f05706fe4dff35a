// What an experiment is about, to read and to change.
import { computed, effect, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { guarded, saveKey } from "../../ui/form";
import { drop, keep, kept } from "../../ui/kept";
import { button, problem } from "../../ui/parts";
import { stale } from "../../api/cache";
import { send } from "../../api/client";
import { canonical } from "../../api/draft";
import { eventOf, metricDraft, type Experiment } from "../../api/experiments";
import type { Params } from "../../routes";
import { inProject, may } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { experimentDraft, experimentFaults, experimentForm, metricsOf, variantsOf, type ExperimentDraft } from "./form";
import { experimentPage } from "./frame";

const scope = "experiment:write";

export default function setupPage(params: Params): Child {
  return experimentPage(params, "setup", setup);
}

/** The members that a form has changed. */
function patchOf(e: Experiment, d: ExperimentDraft): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  if (d.name.trim() !== e.name) out.name = d.name.trim();
  if (d.hypothesis !== (e.description ?? "")) out.description = d.hypothesis;
  if (canonical(metricsOf(d, e.metrics ?? [])) !== canonical(e.metrics ?? [])) out.metrics = metricsOf(d, e.metrics ?? []);
  const before = variantsOf(experimentDraft(e));
  if (canonical(variantsOf(d)) !== canonical(before)) out.parameters = { ...e.parameters, feature_flag_variants: variantsOf(d) };
  return out;
}

function setup(experiment: Signal<Experiment>): Child {
  const record = `experiment:${experiment.peek().id}`;
  const restored = kept<ExperimentDraft>(record);
  const draft = signal(restored ?? experimentDraft(experiment.peek()));
  const faults = signal<Record<string, string>>({});
  const other = signal<unknown>(undefined);
  const patch = computed(() => canonical(patchOf(experiment(), draft())));
  const dirty = () => patch() !== "{}";
  keep(record, draft, dirty);
  guarded(dirty);
  if (restored && dirty()) announce(words.draftRestored);
  let before = experiment.peek();
  effect(() => {
    const now = experiment();
    // A stop changes shares: a form without changes of its own follows.
    if (now !== before && canonical(patchOf(before, draft.peek())) === "{}") draft.set(experimentDraft(now));
    before = now;
  });
  const save = async () => {
    other.set(undefined);
    const { metric, ...found } = experimentFaults(draft.peek());
    faults.set({ ...found, ...(metric && experiment.peek().metrics?.length ? { metric } : {}) });
    if (Object.keys(faults.peek()).length) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    if (patch() === "{}") return announce(words.noChanges);
    try {
      experiment.set(await send<Experiment>("PATCH", inProject(`experiments/${experiment.peek().id}/`), patchOf(experiment.peek(), draft.peek())));
      stale("experiments");
      drop(record);
      draft.set(experimentDraft(experiment.peek()));
      announce(words.saved);
    } catch (e) {
      other.set(e);
    }
  };
  saveKey(save);
  const e = experiment.peek();
  const all = [...(e.metrics ?? []).slice(e.metrics?.[0] && metricDraft(e.metrics[0]) ? 1 : 0), ...(e.metrics_secondary ?? [])];
  return [
    () => (other() ? problem(words.notDone, other()) : null),
    when(() => !may(scope), () => h("p", { role: "note", "aria-label": words.readOnly, class: "read-only" }, words.needs(scope))),
    experimentForm({ draft, faults, locked: () => !may(scope), fixed: () => experiment().status !== "draft", isNew: false, others: all.map((m) => eventOf(m) || experimentWords.unnamed) }),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope, run: save })),
  ];
}
