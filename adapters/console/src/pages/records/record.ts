// The pages of a record with a form: a new record and an existing one.
import { effect, h, signal, untracked, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { followStored, saveParts } from "../../ui/conflict";
import { confirm } from "../../ui/dialog";
import { confirmBeforeLeave, lackOf, onSaveKey, readOnlyNote } from "../../ui/form";
import { deleteDraft, saveDraft, loadDraft } from "../../ui/drafts";
import { button, heading, problem } from "../../ui/parts";
import { loadRecord, recordPage } from "../../ui/record";
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
  texts: { list: string; new: string; delete: string; deleteText: string };
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

/** Checks the draft, sends it with ask, and shows errors of the server at their fields. */
async function submit(f: Form, fields: Field[], ask: () => Promise<void>): Promise<void> {
  f.other.set(undefined);
  f.faults.set(faultsOf(fields, f.draft.peek()));
  const first = () => document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus();
  if (Object.keys(f.faults.peek()).length) return first();
  try {
    await ask();
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
    submit(f, k.fields, async () => {
      const made = await send<R>("POST", projectPath(k.path), await bodyOf(k.fields, f.draft.peek()));
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
  const record = loadRecord(() => get<R>(path));
  const put = (body: object, said: string) => send<R>("PATCH", path, body).then((r) => (record.data.set(r), announce(said)), showRefusal);
  const remove = async ({ name }: R) => {
    if (!(await confirm(words.deleteAsk(name), k.texts.deleteText, words.delete))) return;
    await send("DELETE", path);
    guard.leave = null;
    await go(`p/${project.peek()}/${k.at}`);
    announce(words.deleted(name));
  };
  return recordPage<R>({
    record,
    title: (r) => r.name,
    list: { label: k.texts.list, path: k.at },
    actions: (r) => [k.actions?.(r, put), button(k.texts.delete, { kind: "danger", scope: k.scope, run: () => remove(r.peek()).catch(showRefusal) })],
    ...(k.notes ? { facts: k.notes } : {}),
    show: (r) => edit(k, r, path),
  });
}

/** A field of a stored draft: the text that the form started with, and the typed text. */
type StoredField = [base: string, typed: string];

function edit<R extends Record_>(k: Kind<R>, record: Signal<R>, path: string): HTMLElement {
  const fields = k.fields.filter((x) => !x.onlyNew);
  const texts = (r: R) => draftOf(fields, r);
  const name = `${k.path}${record.peek().id}`;
  const restored = Object.entries(loadDraft<Record<string, StoredField>>(name) ?? {}).filter(([, stored]) => Array.isArray(stored));
  const base = signal<Draft>({ ...texts(record.peek()), ...Object.fromEntries(restored.map(([field, [was]]) => [field, was])) });
  const f = newForm({ ...base.peek(), ...Object.fromEntries(restored.map(([field, [, typed]]) => [field, typed])) });
  const changed = () => fields.filter((x) => f.draft()[x.name] !== base()[x.name]).map((x) => x.name);
  const dirty = () => changed().length > 0;
  if (restored.length && dirty()) announce(words.draftRestored);
  saveDraft(name, () => Object.fromEntries(changed().map((field) => [field, [base()[field], f.draft()[field]]])), dirty);
  confirmBeforeLeave(dirty);
  const follow = (r: R) => {
    const now = followStored(f.draft.peek(), base.peek(), texts(r));
    base.set(now.base);
    f.draft.set(now.draft);
  };
  effect(() => {
    const r = record();
    untracked(() => follow(r));
  });
  const save = () =>
    submit(f, fields, async () => {
      const parts = [];
      for (const x of fields.filter((y) => changed().includes(y.name))) {
        const read = (r: R) => draftOf([x], r)[x.name];
        parts.push({ what: x.label, base: base.peek()[x.name], mine: f.draft.peek()[x.name], read, body: await bodyOf([x], f.draft.peek(), base.peek()) });
      }
      const got = await saveParts<R>(path, parts);
      if (!got) return;
      base.set(texts(got));
      f.draft.set(texts(got));
      record.set(got);
    });
  onSaveKey(save);
  return h(
    "section",
    { class: "stack form-narrow", "aria-label": words.properties },
    () => (f.other() ? problem(words.notDone, f.other()) : null),
    readOnlyNote(() => lackOf(k.scope)),
    form(fields, f.draft, f.faults, () => !hasScope(k.scope), false),
    h("div", null, button(words.save, { kind: "primary", scope: k.scope, run: save })),
  );
}
