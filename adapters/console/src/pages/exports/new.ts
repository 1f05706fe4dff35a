// The page New export.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { button, heading, problem } from "../../ui/parts";
import { send } from "../../api/client";
import { canonicalJSON } from "../../api/draft";
import { exportBody, exportDraft, exportsPath, type Export } from "../../api/exports";
import { go, guard } from "../../router";
import { project } from "../../session";
import { words } from "../../words";
import { exportWords } from "../../words/exports";
import { exportForm, destinationTest } from "./form";

/** Shows the form of a new export. Its draft is not stored, because it contains secrets. */
export default function newExport(): Child {
  const draft = signal(exportDraft());
  const fault = signal<string | undefined>(undefined);
  const other = signal<unknown>(undefined);
  confirmBeforeLeave(() => canonicalJSON(draft()) !== canonicalJSON(exportDraft()), words.leaveLoses);
  const save = async () => {
    other.set(undefined);
    fault.set(draft.peek().name.trim() ? undefined : exportWords.nameWanted);
    if (fault.peek()) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      const made = await send<Export>("POST", exportsPath(), exportBody(draft.peek()));
      guard.leave = null;
      await go(`p/${project.peek()}/exports/${made.id}`, {}, true);
      announce(words.saved);
    } catch (e) {
      other.set(e);
    }
  };
  onSaveKey(save);
  const body = () => ({ ...exportBody(draft.peek()), name: draft.peek().name.trim() || exportWords.newExport });
  return [
    heading(exportWords.newExport),
    () => (other() ? problem(words.notDone, other()) : null),
    h("div", { class: "stack form-narrow" }, exportForm({ draft, fault, locked: () => false, isNew: true }), destinationTest(() => draft.peek().type, body, () => exportsPath() + "run_test_step_new/")),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope: "batch_export:write", run: save })),
  ];
}
