// The settings of an export: only what was changed is sent, secrets stay.
import { h, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { guarded, saveKey } from "../../ui/form";
import { button, problem } from "../../ui/parts";
import { send } from "../../api/client";
import { exportBody, exportDraft, type Export } from "../../api/exports";
import { go, guard } from "../../router";
import type { Params } from "../../routes";
import { may, project } from "../../session";
import { w } from "../../words";
import { wo } from "../../words/exports";
import { refused } from "../flags/actions";
import { exportForm, tester } from "./form";
import { exportPage, scope } from "./frame";

export default function settingsPage(params: Params): Child {
  return exportPage(params, "settings", settings);
}

function settings(e: Signal<Export>, path: string): Child {
  const draft = signal(exportDraft(e.peek()));
  const fault = signal<string | undefined>(undefined);
  const other = signal<unknown>(undefined);
  const changes = () => exportBody(draft(), e());
  guarded(() => Object.keys(changes()).length > 0);
  const save = async () => {
    other.set(undefined);
    fault.set(draft.peek().name.trim() ? undefined : wo.nameWanted);
    if (fault.peek()) return document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
    try {
      e.set(await send<Export>("PATCH", path, changes()));
      draft.set(exportDraft(e.peek()));
      announce(w.saved);
    } catch (x) {
      other.set(x);
    }
  };
  const remove = async () => {
    const { name } = e.peek();
    if (!(await confirm(w.deleteAsk(name), wo.deleteText, w.delete))) return;
    await send("DELETE", path);
    guard.leave = null;
    await go(`p/${project.peek()}/exports`);
    announce(w.deleted(name));
  };
  saveKey(save);
  return h(
    "section",
    { class: "stack form-narrow", "aria-label": wo.settingsTab },
    () => (other() ? problem(w.notDone, other()) : null),
    exportForm({ draft, fault, locked: () => !may(scope), isNew: false }),
    tester(() => draft.peek().type, changes, () => path + "run_test_step/"),
    h("div", { class: "actions" }, button(w.save, { kind: "primary", scope, run: save }), button(wo.deleteExport, { kind: "danger", scope, run: () => remove().catch(refused) })),
  );
}
