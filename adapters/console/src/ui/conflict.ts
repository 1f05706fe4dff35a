// Changes that two people make to one record (console.md §2.6 Conflict). What only one of them has
// changed is merged; what both have changed differently is shown in a dialog before anything is saved.
import { h } from "./dom";
import { announce } from "./announce";
import { dialog } from "./dialog";
import { isMissing } from "./record";
import { ApiError, get, send, type Query } from "../api/client";
import { canonicalJSON } from "../api/draft";
import { words } from "../words";

export interface ConflictRow {
  what: string;
  before: string;
  theirs: string;
  yours: string;
}

/** Opens the dialog Changed meanwhile. It returns undefined if the person goes on editing. */
export function askConflict(text: string, rows: ConflictRow[]): Promise<"theirs" | "mine" | undefined> {
  const heads = [words.what, words.before, words.theirs, words.yours];
  const row = (r: ConflictRow) => h("tr", null, h("th", { scope: "row" }, r.what), [r.before, r.theirs, r.yours].map((t) => h("td", null, h("bdi", null, t))));
  return dialog<"theirs" | "mine">({ title: words.changedMeanwhile, wide: true, cancel: words.goOn }, (d) => ({
    content: [
      h("p", null, text),
      h("div", { class: "scroller" }, h("table", { class: "changes", "aria-label": words.conflicts }, h("thead", null, h("tr", null, heads.map((t) => h("th", { scope: "col" }, t)))), h("tbody", null, rows.map(row)))),
    ],
    buttons: [
      h("button", { type: "button", class: "button", onclick: () => d.close("theirs") }, words.keepTheirs),
      h("button", { type: "button", class: "button danger", onclick: () => d.close("mine") }, words.overwrite),
    ],
  }));
}

/** A part of a record that the person has changed. */
export interface Part<R> {
  what: string;
  /** The value that the form started with, and the person's own value. */
  base: unknown;
  mine: unknown;
  /** Returns the value in a record. */
  read: (record: R) => unknown;
  /** The members of the request that change the part. */
  body: object;
  /** Whether the part is sent although the values are equal, because they leave out secrets. */
  always?: boolean;
}

/** Returns a part for each member of a patch. labels are the labels of members. */
export function partsOf<R extends object>(base: R, patch: Record<string, unknown>, labels: Record<string, string> = {}): Part<R>[] {
  const member = (record: R, name: string) => (record as Record<string, unknown>)[name];
  return Object.keys(patch).map((name) => ({ what: labels[name] ?? name, base: member(base, name), mine: patch[name], read: (record) => member(record, name), body: { [name]: patch[name] } }));
}

/** Takes over the stored values of the members that a draft has not changed, in the draft and in its base. */
export function followStored<D extends Record<string, unknown>>(draft: D, base: D, stored: D): { draft: D; base: D } {
  const clean = Object.fromEntries(Object.entries(stored).filter(([name]) => same(draft[name], base[name])));
  return { draft: { ...draft, ...clean }, base: { ...base, ...clean } };
}

const same = (a: unknown, b: unknown) => canonicalJSON(a === undefined || a === "" ? null : a) === canonicalJSON(b === undefined || b === "" ? null : b);
const textOf = (v: unknown) => (v === null || v === undefined || v === "" ? words.dash : typeof v === "string" ? v : JSON.stringify(v));

/** Returns the error of a save after somebody has deleted the record. */
export const deletedError = (): ApiError => new ApiError(404, "deleted", words.deletedWhileEdited, null, "");

/**
 * Saves the changed parts of a record after a comparison with its stored state, and announces the result.
 * It returns the record afterwards, or undefined if nothing was changed or the person goes on editing.
 * query is that of the request for the stored state.
 */
export async function saveParts<R extends object>(path: string, parts: Part<R>[], query: Query = {}): Promise<R | undefined> {
  const changed = parts.filter((p) => p.always || !same(p.mine, p.base));
  if (!changed.length) {
    announce(words.noChanges);
    return undefined;
  }
  const stored = await get<R>(path, query).catch((e: unknown) => {
    throw isMissing(e) ? deletedError() : e;
  });
  if ((stored as { deleted?: boolean }).deleted) throw deletedError();
  const both = changed.filter((p) => !same(p.read(stored), p.base) && !same(p.read(stored), p.mine));
  const rows = both.map((p) => ({ what: p.what, before: textOf(p.base), theirs: textOf(p.read(stored)), yours: textOf(p.mine) }));
  const choice = both.length ? await askConflict(words.changedBySomebody, rows) : "mine";
  if (!choice) return undefined;
  const sent = choice === "mine" ? changed : changed.filter((p) => !both.includes(p));
  if (!sent.length) {
    announce(words.keptTheirs);
    return stored;
  }
  const saved = await send<R>("PATCH", path, Object.assign({}, ...sent.map((p) => p.body)));
  announce(words.saved);
  return saved;
}
