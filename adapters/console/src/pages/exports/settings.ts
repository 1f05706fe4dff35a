// The tab Settings of an export. Only the changed fields are sent, and secrets are kept.
import { h, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { partsOf, saveParts, type Part } from "../../ui/conflict";
import { confirm } from "../../ui/dialog";
import { confirmBeforeLeave, lackOf, onSaveKey, readOnlyNote } from "../../ui/form";
import { button, problem } from "../../ui/parts";
import { send } from "../../api/client";
import { exportBody, exportDraft, secrets, type Export, type ExportDraft } from "../../api/exports";
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
  confirmBeforeLeave(() => Object.keys(changes()).length > 0, words.leaveLoses);
  /** Returns the parts that the draft changes. Secrets are not compared or shown. */
  const parts = () => {
    const { destination, ...plain } = changes();
    const config = (d: ExportDraft) => Object.fromEntries(Object.entries(d.config).filter(([name]) => !secrets.has(name)));
    const target: Part<Export>[] = destination ? [{ what: exportWords.destination, base: config(exportDraft(e.peek())), mine: config(draft.peek()), read: (now) => config(exportDraft(now)), body: { destination }, always: true }] : [];
    return [...partsOf(e.peek(), plain, { name: exportWords.name, model: exportWords.data, interval: exportWords.every }), ...target];
  };
  const save = async () => {
    other.set(undefined);
    fault.set(draft.peek().name.trim() ? undefined : exportWords.nameWanted);
    if (fault.peek()) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      const got = await saveParts(path, parts());
      if (!got) return;
      e.set(got);
      draft.set(exportDraft(got));
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
    readOnlyNote(() => lackOf(scope)),
    exportForm({ draft, fault, locked: () => !hasScope(scope), isNew: false }),
    destinationTest(() => draft.peek().type, changes, () => path + "run_test_step/"),
    h("div", { class: "actions" }, button(words.save, { kind: "primary", scope, run: save }), button(exportWords.deleteExport, { kind: "danger", scope, run: () => remove().catch(showRefusal) })),
  );
}
