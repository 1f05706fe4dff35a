// The tab Setup of an experiment: the form to change it.
import { computed, effect, h, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { partsOf, saveParts } from "../../ui/conflict";
import { confirmBeforeLeave, lackOf, onSaveKey, readOnlyNote } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, problem } from "../../ui/parts";
import { invalidate } from "../../api/cache";
import { canonicalJSON } from "../../api/draft";
import type { Experiment } from "../../api/experiments";
import type { Params } from "../../routes";
import { projectPath, hasScope } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { allowedEvents, experimentDraft, experimentFaults, hasFaults, noFaults, patchOf, type ExperimentDraft, type Faults } from "./draft";
import { experimentForm } from "./form";
import { experimentPage } from "./frame";

const scope = "experiment:write";

export default function setupPage(params: Params): Child {
  return experimentPage(params, "setup", setup);
}

const labels = { name: experimentWords.name, description: experimentWords.hypothesis, metrics: experimentWords.primary, metrics_secondary: experimentWords.secondary, parameters: experimentWords.variants };

function setup(experiment: Signal<Experiment>): Child {
  const record = `experiment:${experiment.peek().id}`;
  const restored = loadDraft<{ draft: ExperimentDraft; base: Experiment }>(record);
  const base = signal(restored?.base ?? experiment.peek()); // the experiment that the draft started with
  const draft = signal(restored?.draft ?? experimentDraft(experiment.peek()));
  const faults = signal<Faults>(noFaults);
  const other = signal<unknown>(undefined);
  const patch = computed(() => canonicalJSON(patchOf(base(), draft())));
  const dirty = () => patch() !== "{}";
  saveDraft(record, () => ({ draft: draft(), base: base() }), dirty);
  confirmBeforeLeave(dirty);
  if (restored && dirty()) announce(words.draftRestored);
  effect(() => {
    const now = experiment();
    // Stopping changes shares. A form without changes of its own follows.
    if (now === base.peek() || canonicalJSON(patchOf(base.peek(), draft.peek())) !== "{}") return;
    base.set(now);
    draft.set(experimentDraft(now));
  });
  const save = async () => {
    other.set(undefined);
    faults.set(experimentFaults(draft.peek()));
    if (hasFaults(faults.peek())) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    if (patch() === "{}") return announce(words.noChanges);
    try {
      const parts = partsOf(base.peek(), patchOf(base.peek(), draft.peek()), labels).map((p) => ({ ...p, body: { ...p.body, ...allowedEvents(draft.peek()) } }));
      const got = await saveParts(projectPath(`experiments/${base.peek().id}/`), parts);
      if (!got) return;
      base.set(got);
      draft.set(experimentDraft(got));
      experiment.set(got);
      invalidate("experiments");
      deleteDraft(record);
    } catch (e) {
      other.set(e);
    }
  };
  onSaveKey(save);
  return [
    () => (other() ? problem(words.notDone, other()) : null),
    readOnlyNote(() => lackOf(scope)),
    experimentForm({ draft, faults, locked: () => !hasScope(scope), fixed: () => experiment().status !== "draft", isNew: false }),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope, run: save })),
  ];
}
