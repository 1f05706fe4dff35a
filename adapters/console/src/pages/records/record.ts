// The pages of a record with a form: a new record and an existing one.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { confirmBeforeLeave, onSaveKey } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { loadingBars, button, heading, problem } from "../../ui/parts";
import { ApiError, get, send } from "../../api/client";
import { canonicalJSON } from "../../api/draft";
import { go, guard } from "../../router";
import type { Params } from "../../routes";
import { projectPath, hasScope, project } from "../../session";
import { words } from "../../words";
import { showRefusal } from "../flags/actions";
import { bodyOf, draftOf, faultsOf, FieldFault, form, type Draft, type Faults, type Field, type Record_ } from "./form";

export interface Kind<R extends Record_> {
  /** The path in the API, below the project. */
  path: string;
  /** The path of the pages, below the project. */
  at: string;
  scope: string;
  fields: Field[];
  texts: { new: string; delete: string; deleteText: string };
  /** Returns buttons next to the heading. put changes the record. */
  actions?: (r: Signal<R>, put: (body: object, said: string) => Promise<void>) => Child;
  /** Returns the content above the form. */
  notes?: (r: Signal<R>) => Child;
}

interface Form {
  draft: Signal<Draft>;
  faults: Signal<Faults>;
  other: Signal<unknown>;
}

const newForm = (d: Draft): Form => ({ draft: signal(d), faults: signal<Faults>({}), other: signal<unknown>(undefined) });

/** Checks the draft, sends it, and shows errors of the server at their fields. */
async function submit(f: Form, fields: Field[], was: Draft | undefined, ask: (body: object) => Promise<void>): Promise<void> {
  f.other.set(undefined);
  f.faults.set(faultsOf(fields, f.draft.peek()));
  const first = () => document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
  if (Object.keys(f.faults.peek()).length) return first();
  try {
    await ask(await bodyOf(fields, f.draft.peek(), was));
  } catch (e) {
    const place = e instanceof FieldFault ? e.field : e instanceof ApiError ? (e.attr ?? "") : "";
    const name = place.split("__")[0]!;
    const known = fields.find((x) => x.name === name || x.members?.includes(name));
    if (!known) return f.other.set(e);
    f.faults.set({ [known.name]: (e as Error).message, [place]: (e as Error).message });
    first();
  }
}

export function newRecord<R extends Record_>(k: Kind<R>): Child {
  const empty = draftOf(k.fields);
  const record = `${k.path}new`;
  const was = loadDraft<Draft>(record);
  const f = newForm({ ...empty, ...was });
  const dirty = () => canonicalJSON(f.draft()) !== canonicalJSON(empty);
  if (was) announce(words.draftRestored);
  saveDraft(record, f.draft, dirty);
  confirmBeforeLeave(dirty);
  const save = () =>
    submit(f, k.fields, undefined, async (body) => {
      const made = await send<R>("POST", projectPath(k.path), body);
      deleteDraft(record);
      guard.leave = null;
      await go(`p/${project.peek()}/${k.at}/${made.id}`, {}, true);
      announce(words.saved);
    });
  onSaveKey(save);
  return [
    heading(k.texts.new),
    () => (f.other() ? problem(words.notDone, f.other()) : null),
    h("div", { class: "stack form-narrow" }, form(k.fields, f.draft, f.faults, () => false, true)),
    h("div", { class: "save-bar" }, h("span", { class: "space" }), button(words.save, { kind: "primary", scope: k.scope, run: save })),
  ];
}

export function oneRecord<R extends Record_>(k: Kind<R>, params: Params): Child {
  const path = `${projectPath(k.path)}${params.id}/`;
  const got = signal<R | undefined>(undefined);
  const fault = signal<unknown>(undefined);
  const load = () => get<R>(path).then((r) => (got.set(r), fault.set(undefined)), (e: unknown) => fault.set(e));
  void load();
  const record = got as Signal<R>;
  const put = (body: object, said: string) => send<R>("PATCH", path, body).then((r) => (got.set(r), announce(said)), showRefusal);
  const remove = async () => {
    const { name } = record.peek();
    if (!(await confirm(words.deleteAsk(name), k.texts.deleteText, words.delete))) return;
    await send("DELETE", path);
    guard.leave = null;
    await go(`p/${project.peek()}/${k.at}`);
    announce(words.deleted(name));
  };
  return [
    heading(() => got()?.name ?? "…", when(got, () => [k.actions?.(record, put), button(k.texts.delete, { kind: "danger", scope: k.scope, run: () => remove().catch(showRefusal) })])),
    () => (fault() ? problem(words.failed, fault(), () => void load()) : null),
    when(() => !got() && !fault(), () => loadingBars(8)),
    when(got, () => [k.notes?.(record), edit(k, record, path)]),
  ];
}

function edit<R extends Record_>(k: Kind<R>, record: Signal<R>, path: string): HTMLElement {
  const fields = k.fields.filter((x) => !x.onlyNew);
  const was = () => draftOf(fields, record());
  const name = `${k.path}${record.peek().id}`;
  const mine = loadDraft<Draft>(name); // the changed fields
  const changed = () => Object.fromEntries(Object.entries(f.draft()).filter(([field, text]) => text !== (was()[field] ?? "")));
  const f = newForm({ ...was(), ...mine });
  const dirty = () => canonicalJSON(changed()) !== "{}";
  if (mine && dirty()) announce(words.draftRestored);
  saveDraft(name, changed, dirty);
  confirmBeforeLeave(dirty);
  const save = () =>
    submit(f, fields, was(), async (body) => {
      record.set(await send<R>("PATCH", path, body));
      f.draft.set(was());
      announce(words.saved);
    });
  onSaveKey(save);
  return h(
    "section",
    { class: "stack form-narrow", "aria-label": words.properties },
    () => (f.other() ? problem(words.notDone, f.other()) : null),
    form(fields, f.draft, f.faults, () => !hasScope(k.scope), false),
    h("div", null, button(words.save, { kind: "primary", scope: k.scope, run: save })),
  );
}
