// Saving a flag. The changes are reviewed first, and conflicts with changes by others are shown.
import { h } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { askConflict, deletedError, type ConflictRow } from "../../ui/conflict";
import { dialog } from "../../ui/dialog";
import { diffFlags, changesTable, type Change } from "../../ui/diff";
import { effectBody, effectRegion } from "../../ui/effect";
import { field } from "../../ui/parts";
import { isMissing } from "../../ui/record";
import { relativeTime } from "../../ui/time";
import { ApiError, get, send } from "../../api/client";
import { invalidate } from "../../api/cache";
import { needsApproval, requestApproval } from "../../api/approvals";
import { canonicalJSON, changedMembers } from "../../api/draft";
import type { Flag, User } from "../../api/flags";
import { projectPath } from "../../session";
import { words } from "../../words";
import { approvalWords } from "../../words/approvals";

const path = (id: number) => projectPath(`feature_flags/${id}/`);

/** The notes of saves that have not finished, by flag. */
const unsent = new Map<number, string>();

/** Opens the dialog Review changes. It returns the note, or undefined if the person keeps editing. */
function review(flag: Flag, body: Partial<Flag>, action: string): Promise<string | undefined> {
  const note = h("textarea", { rows: 2, maxlength: 500, value: unsent.get(flag.id) ?? "" });
  note.oninput = () => unsent.set(flag.id, note.value);
  return dialog<string>({ title: words.reviewChanges, wide: true, cancel: words.keepEditing }, (d) => ({
    content: [changesTable(diffFlags(flag, { ...flag, ...body })), effectRegion(flag.id, () => effectBody({ ...flag, ...body })), field(note, { label: words.note, hint: words.noteHint })],
    buttons: h("button", { type: "button", class: "button primary", "data-first": "", onclick: () => d.close(note.value) }, action),
  }));
}

/** Saves a flag, or creates or edits a change request. It returns the flag afterwards, or undefined if nothing was done. */
export async function save(flag: Flag, body: Partial<Flag>, change?: number): Promise<Flag | undefined> {
  const patch = changedMembers(flag, body);
  if (!Object.keys(patch).length) {
    announce(words.noChanges);
    return undefined;
  }
  if (change !== undefined || (await needsApproval(flag, patch))) return ask(flag, patch, change);
  const note = await review(flag, patch, words.saveChanges);
  if (note === undefined) return undefined;
  try {
    return await write(flag, patch, note);
  } catch (e) {
    if (!(e instanceof ApiError) || e.code !== "approval_required") throw e;
    return ask(flag, patch); // not known before if the settings cannot be read
  }
}

async function ask(flag: Flag, patch: Partial<Flag>, change?: number): Promise<Flag | undefined> {
  const note = await review(flag, patch, approvalWords.request);
  if (note === undefined) return undefined;
  const changedNames = diffFlags(flag, { ...flag, ...patch }).map((c) => c.what);
  await requestApproval(flag, patch, changedNames.join(", "), note, change);
  unsent.delete(flag.id);
  return flag;
}

async function write(flag: Flag, patch: Partial<Flag>, note: string): Promise<Flag | undefined> {
  try {
    const got = await send<Flag>("PATCH", path(flag.id), { ...patch, version: flag.version, original_flag: flag, ...(note ? { change_note: note } : {}) });
    invalidate("feature_flags");
    unsent.delete(flag.id);
    announce(got.version > flag.version + 1 ? words.savedMerged(got.version, await authorOf(flag.id, got.version - 1)) : words.savedVersion(got.version));
    return got;
  } catch (e) {
    if (isMissing(e)) throw deletedError();
    if (!(e instanceof ApiError) || e.status !== 409) throw e;
    const theirs = await get<Flag>(path(flag.id));
    return conflict(flag, theirs, patch, note);
  }
}

/** Returns who made a version. */
const authorOf = (flag: number, version: number): Promise<string> =>
  get<{ created_by: User | null }>(`${path(flag)}versions/${version}/`).then((v) => v.created_by?.email ?? words.theServer, () => words.theServer);

/** Shows what both have changed, and saves what the person chooses. */
async function conflict(base: Flag, theirs: Flag, patch: Partial<Flag>, note: string): Promise<Flag | undefined> {
  const deleted = theirs.deleted && !base.deleted;
  const member = (f: Flag, name: string) => canonicalJSON((f as unknown as Record<string, unknown>)[name]);
  const both = Object.keys(patch).filter((name) => member(base, name) !== member(theirs, name));
  const [who, when] = [theirs.last_modified_by?.email ?? words.theServer, relativeTime(theirs.updated_at)];
  const rows = conflictRows(diffFlags(base, { ...base, ...patch }), diffFlags(base, theirs));
  const choice = await askConflict((deleted ? words.deletedMeanwhileBy : words.changedMeanwhileText)(who, when), rows);
  if (choice === "mine") return write(theirs, deleted ? { ...patch, deleted: false } : patch, note);
  if (choice !== "theirs") return undefined;
  const rest = Object.fromEntries(Object.entries(patch).filter(([k]) => !both.includes(k))) as Partial<Flag>;
  if (!deleted && Object.keys(rest).length) return write(theirs, rest, note);
  unsent.delete(base.id);
  announce(words.keptTheirs);
  return theirs;
}

function conflictRows(mine: Change[], theirs: Change[]): ConflictRow[] {
  return [...new Set([...theirs, ...mine].map((c) => c.what))].map((what) => {
    const [m, t] = [mine, theirs].map((list) => list.find((c) => c.what === what));
    return { what, before: (m ?? t)!.before, theirs: t?.after ?? words.dash, yours: m?.after ?? words.dash };
  });
}
