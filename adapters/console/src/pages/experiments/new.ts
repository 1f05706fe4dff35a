// The page New experiment.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, heading, problem } from "../../ui/parts";
import { invalidate } from "../../api/cache";
import { send } from "../../api/client";
import { canonicalJSON } from "../../api/draft";
import type { Experiment } from "../../api/experiments";
import { go, guard } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { emptyExperiment, experimentFaults, experimentForm, metricsOf, variantsOf, type ExperimentDraft } from "./form";

export default function newExperiment(): Child {
  const record = "experiment:new";
  const restored = loadDraft<ExperimentDraft>(record);
  const empty = emptyExperiment();
  const draft = signal(restored ?? empty);
  const dirty = () => canonicalJSON(draft()) !== canonicalJSON(empty);
  if (restored) announce(words.draftRestored);
  const faults = signal<Record<string, string>>({});
  const other = signal<unknown>(undefined);
  saveDraft(record, draft, dirty);
  confirmBeforeLeave(dirty);
  const save = async () => {
    const d = draft.peek();
    other.set(undefined);
    faults.set(experimentFaults(d));
    if (Object.keys(faults.peek()).length) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      const body = { name: d.name.trim(), feature_flag_key: d.flag.trim(), description: d.hypothesis, parameters: { feature_flag_variants: variantsOf(d) }, metrics: metricsOf(d, []) };
      const made = await send<Experiment>("POST", projectPath("experiments/"), body);
      invalidate("experiments");
      invalidate("feature_flags");
      deleteDraft(record);
      guard.leave = null;
      await go(`p/${project.peek()}/experiments/${made.id}`, {}, true);
      announce(words.saved);
    } catch (e) {
      other.set(e);
    }
  };
  onSaveKey(save);
  return [
    heading(experimentWords.newExperiment),
    () => (other() ? problem(words.notDone, other()) : null),
    experimentForm({ draft, faults, locked: () => false, fixed: () => false, isNew: true, others: [] }),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope: "experiment:write", run: save })),
  ];
}
