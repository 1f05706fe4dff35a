// Saving a flag. The changes are reviewed first, and conflicts with changes by others are shown.
import { h, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { diffFlags, changesTable, type Change } from "../../ui/diff";
import { effectRegion } from "../../ui/effect";
import { field } from "../../ui/parts";
import { relativeTime } from "../../ui/time";
import { ApiError, get, send } from "../../api/client";
import { invalidate } from "../../api/cache";
import { needsApproval, requestApproval } from "../../api/approvals";
import { canonicalJSON, changedMembers } from "../../api/draft";
import type { Flag } from "../../api/flags";
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
    content: [changesTable(diffFlags(flag, { ...flag, ...body })), effectRegion(flag.id, () => ({ filters: body.filters ?? flag.filters, active: body.active ?? flag.active })), field(note, { label: words.note, hint: words.noteHint })],
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
    announce(got.version > flag.version + 1 ? words.savedMerged(got.version, got.last_modified_by?.email ?? "") : words.savedVersion(got.version));
    return got;
  } catch (e) {
    if (!(e instanceof ApiError) || e.status !== 409) throw e;
    const theirs = await get<Flag>(path(flag.id));
    return conflict(flag, theirs, patch, note);
  }
}

async function conflict(base: Flag, theirs: Flag, patch: Partial<Flag>, note: string): Promise<Flag | undefined> {
  const both = Object.keys(patch).filter((k) => {
    const [was, now] = [base, theirs].map((f) => canonicalJSON((f as unknown as Record<string, unknown>)[k]));
    return was !== now;
  });
  const mine = diffFlags(base, { ...base, ...patch });
  const others = diffFlags(base, theirs);
  const choice = await dialog<"theirs" | "mine">({ title: words.changedMeanwhile, wide: true, cancel: words.goOn }, (d) => ({
    content: [h("p", null, words.changedMeanwhileText(theirs.last_modified_by?.email ?? "", relativeTime(theirs.updated_at))), conflictTable(mine, others)],
    buttons: [
      h("button", { type: "button", class: "button", onclick: () => d.close("theirs") }, words.keepTheirs),
      h("button", { type: "button", class: "button danger", onclick: () => d.close("mine") }, words.overwrite),
    ],
  }));
  if (choice === "mine") return write(theirs, patch, note);
  if (choice !== "theirs") return undefined;
  const rest = Object.fromEntries(Object.entries(patch).filter(([k]) => !both.includes(k))) as Partial<Flag>;
  return Object.keys(rest).length ? write(theirs, rest, note) : theirs;
}

function conflictTable(mine: Change[], theirs: Change[]): Child {
  const rows = [...new Set([...mine, ...theirs].map((c) => c.what))].map((changedNames) => ({ what: changedNames, mine: mine.find((c) => c.what === changedNames), theirs: theirs.find((c) => c.what === changedNames) }));
  return h(
    "div",
    { class: "scroller" },
    h(
      "table",
      { class: "changes", "aria-label": words.conflicts },
      h("thead", null, h("tr", null, [words.what, words.before, words.theirs, words.yours].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", null, rows.map((r) => h("tr", null, h("th", { scope: "row" }, r.what), [(r.mine ?? r.theirs)!.before, r.theirs?.after ?? words.dash, r.mine?.after ?? words.dash].map((t) => h("td", null, h("bdi", null, t)))))),
    ),
  );
}
