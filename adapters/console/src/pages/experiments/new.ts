// A new experiment.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { guarded, saveKey } from "../../ui/form";
import { drop, keep, kept } from "../../ui/kept";
import { button, heading, problem } from "../../ui/parts";
import { stale } from "../../api/cache";
import { send } from "../../api/client";
import { canonical } from "../../api/draft";
import type { Experiment } from "../../api/experiments";
import { go, guard } from "../../router";
import { inProject, project } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { emptyExperiment, experimentFaults, experimentForm, metricsOf, variantsOf, type ExperimentDraft } from "./form";

export default function newExperiment(): Child {
  const record = "experiment:new";
  const restored = kept<ExperimentDraft>(record);
  const empty = emptyExperiment();
  const draft = signal(restored ?? empty);
  const dirty = () => canonical(draft()) !== canonical(empty);
  if (restored) announce(words.draftRestored);
  const faults = signal<Record<string, string>>({});
  const other = signal<unknown>(undefined);
  keep(record, draft, dirty);
  guarded(dirty);
  const save = async () => {
    const d = draft.peek();
    other.set(undefined);
    faults.set(experimentFaults(d));
    if (Object.keys(faults.peek()).length) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      const body = { name: d.name.trim(), feature_flag_key: d.flag.trim(), description: d.hypothesis, parameters: { feature_flag_variants: variantsOf(d) }, metrics: metricsOf(d, []) };
      const made = await send<Experiment>("POST", inProject("experiments/"), body);
      stale("experiments");
      stale("feature_flags");
      drop(record);
      guard.leave = null;
      await go(`p/${project.peek()}/experiments/${made.id}`, {}, true);
      announce(words.saved);
    } catch (e) {
      other.set(e);
    }
  };
  saveKey(save);
  return [
    heading(experimentWords.newExperiment),
    () => (other() ? problem(words.notDone, other()) : null),
    experimentForm({ draft, faults, locked: () => false, fixed: () => false, isNew: true, others: [] }),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope: "experiment:write", run: save })),
  ];
}
