// The tab Setup of an experiment: the form to change it.
import { computed, effect, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, problem } from "../../ui/parts";
import { invalidate } from "../../api/cache";
import { send } from "../../api/client";
import { canonicalJSON } from "../../api/draft";
import type { Experiment } from "../../api/experiments";
import type { Params } from "../../routes";
import { projectPath, hasScope } from "../../session";
import { words } from "../../words";
import { experimentDraft, experimentFaults, hasFaults, noFaults, patchOf, type ExperimentDraft, type Faults } from "./draft";
import { experimentForm } from "./form";
import { experimentPage } from "./frame";

const scope = "experiment:write";

export default function setupPage(params: Params): Child {
  return experimentPage(params, "setup", setup);
}

function setup(experiment: Signal<Experiment>): Child {
  const record = `experiment:${experiment.peek().id}`;
  const restored = loadDraft<ExperimentDraft>(record);
  const draft = signal(restored ?? experimentDraft(experiment.peek()));
  const faults = signal<Faults>(noFaults);
  const other = signal<unknown>(undefined);
  const patch = computed(() => canonicalJSON(patchOf(experiment(), draft())));
  const dirty = () => patch() !== "{}";
  saveDraft(record, draft, dirty);
  confirmBeforeLeave(dirty);
  if (restored && dirty()) announce(words.draftRestored);
  let before = experiment.peek();
  effect(() => {
    const now = experiment();
    // Stopping changes shares. A form without changes of its own follows.
    if (now !== before && canonicalJSON(patchOf(before, draft.peek())) === "{}") draft.set(experimentDraft(now));
    before = now;
  });
  const save = async () => {
    other.set(undefined);
    faults.set(experimentFaults(draft.peek()));
    if (hasFaults(faults.peek())) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    if (patch() === "{}") return announce(words.noChanges);
    try {
      experiment.set(await send<Experiment>("PATCH", projectPath(`experiments/${experiment.peek().id}/`), patchOf(experiment.peek(), draft.peek())));
      invalidate("experiments");
      deleteDraft(record);
      draft.set(experimentDraft(experiment.peek()));
      announce(words.saved);
    } catch (e) {
      other.set(e);
    }
  };
  onSaveKey(save);
  return [
    () => (other() ? problem(words.notDone, other()) : null),
    when(() => !hasScope(scope), () => h("p", { role: "note", "aria-label": words.readOnly, class: "read-only" }, words.needs(scope))),
    experimentForm({ draft, faults, locked: () => !hasScope(scope), fixed: () => experiment().status !== "draft", isNew: false }),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope, run: save })),
  ];
}
