// The page New experiment.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, heading, problem } from "../../ui/parts";
import { invalidate } from "../../api/cache";
import { get, send } from "../../api/client";
import { canonicalJSON } from "../../api/draft";
import type { Experiment } from "../../api/experiments";
import { go, guard } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { emptyExperiment, experimentFaults, hasFaults, newBody, noFaults, type ExperimentDraft, type Faults } from "./draft";
import { experimentForm } from "./form";

export default function newExperiment(): Child {
  const record = "experiment:new";
  const restored = loadDraft<ExperimentDraft>(record);
  const empty = emptyExperiment();
  const draft = signal(restored ?? empty);
  void get<{ experiments_config: { default_minimum_detectable_effect: number | null } }>(`projects/${project.peek()}/`).then((p) => {
    const effect = p.experiments_config.default_minimum_detectable_effect;
    if (effect === null || restored) return;
    empty.effect = String(effect);
    if (!draft.peek().effect) draft.update((d) => ({ ...d, effect: empty.effect }));
  }, () => undefined); // without the right to read the project, there is no default
  const dirty = () => canonicalJSON(draft()) !== canonicalJSON(empty);
  if (restored) announce(words.draftRestored);
  const faults = signal<Faults>(noFaults);
  const other = signal<unknown>(undefined);
  saveDraft(record, draft, dirty);
  confirmBeforeLeave(dirty);
  const save = async () => {
    const d = draft.peek();
    other.set(undefined);
    faults.set(experimentFaults(d));
    if (hasFaults(faults.peek())) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      const made = await send<Experiment>("POST", projectPath("experiments/"), newBody(d));
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
    experimentForm({ draft, faults, locked: () => false, fixed: () => false, isNew: true }),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope: "experiment:write", run: save })),
  ];
}
