// The tab Settings of an export. Only the changed fields are sent, and secrets are kept.
import { h, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { button, problem } from "../../ui/parts";
import { send } from "../../api/client";
import { exportBody, exportDraft, type Export } from "../../api/exports";
import { go, guard } from "../../router";
import type { Params } from "../../routes";
import { hasScope, project } from "../../session";
import { words } from "../../words";
import { exportWords } from "../../words/exports";
import { showRefusal } from "../flags/actions";
import { exportForm, destinationTest } from "./form";
import { exportPage, scope } from "./frame";

export default function settingsPage(params: Params): Child {
  return exportPage(params, "settings", settings);
}

function settings(e: Signal<Export>, path: string): Child {
  const draft = signal(exportDraft(e.peek()));
  const fault = signal<string | undefined>(undefined);
  const other = signal<unknown>(undefined);
  const changes = () => exportBody(draft(), e());
  confirmBeforeLeave(() => Object.keys(changes()).length > 0);
  const save = async () => {
    other.set(undefined);
    fault.set(draft.peek().name.trim() ? undefined : exportWords.nameWanted);
    if (fault.peek()) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      e.set(await send<Export>("PATCH", path, changes()));
      draft.set(exportDraft(e.peek()));
      announce(words.saved);
    } catch (x) {
      other.set(x);
    }
  };
  const remove = async () => {
    const { name } = e.peek();
    if (!(await confirm(words.deleteAsk(name), exportWords.deleteText, words.delete))) return;
    await send("DELETE", path);
    guard.leave = null;
    await go(`p/${project.peek()}/exports`);
    announce(words.deleted(name));
  };
  onSaveKey(save);
  return h(
    "section",
    { class: "stack form-narrow", "aria-label": exportWords.settingsTab },
    () => (other() ? problem(words.notDone, other()) : null),
    exportForm({ draft, fault, locked: () => !hasScope(scope), isNew: false }),
    destinationTest(() => draft.peek().type, changes, () => path + "run_test_step/"),
    h("div", { class: "actions" }, button(words.save, { kind: "primary", scope, run: save }), button(exportWords.deleteExport, { kind: "danger", scope, run: () => remove().catch(showRefusal) })),
  );
}
