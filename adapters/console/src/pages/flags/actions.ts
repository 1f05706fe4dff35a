// The actions on a flag in the list and on its page.
import { h } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { field } from "../../ui/parts";
import { needsApproval, requestApproval } from "../../api/approvals";
import { ApiError, send } from "../../api/client";
import { invalidate } from "../../api/cache";
import type { Row } from "../../api/flags";
import { projectPath } from "../../session";
import { words } from "../../words";
import { approvalWords } from "../../words/approvals";
import { effectRegion } from "../../ui/effect";

export const askFirst = (title: string, text: string, action: string) => confirm(title, text, action);

/** Shows the error of an action. */
export function showRefusal(e: unknown): void {
  announce(e instanceof ApiError ? e.detail : String(e));
}

function patch(f: Row, body: object): Promise<Row> {
  return send<Row>("PATCH", projectPath(`feature_flags/${f.id}/`), body).finally(() => invalidate(`feature_flags/${f.id}/`));
}

export const change = {
  /** Switches a flag after a dialog that shows whose value changes. It returns undefined after Cancel. */
  async active(f: Row): Promise<Row | undefined> {
    const on = !f.active;
    const asked = await needsApproval(f, { active: on });
    const yes = await dialog<boolean>({ title: on ? words.switchOnAsk(f.key) : words.switchOffAsk(f.key) }, (d) => ({
      content: [h("p", null, on ? words.switchOnText : words.switchOffText), effectRegion(f.id, () => ({ active: on }))],
      buttons: h("button", { type: "button", class: on ? "button primary" : "button danger", "data-first": "", onclick: () => d.close(true) }, asked ? approvalWords.request : on ? words.switchOn : words.switchOff),
    }));
    if (!yes) return undefined;
    if (asked) return void (await requestApproval(f, { active: on }, on ? words.switchOn : words.switchOff, ""));
    const got = await patch(f, { active: on });
    announce(on ? words.switchedOn(f.key) : words.switchedOff(f.key));
    return got;
  },

  async archived(f: Row): Promise<Row | undefined> {
    const body = f.archived ? { archived: false } : { archived: true, active: false };
    const asked = await needsApproval(f, body);
    if ((!f.archived || asked) && !(await askFirst(f.archived ? words.unarchiveAsk(f.key) : words.archiveAsk(f.key), f.archived ? words.unarchiveText : words.archiveText, asked ? approvalWords.request : words.archive))) return undefined;
    if (asked) return void (await requestApproval(f, body, f.archived ? words.unarchive : words.archive, ""));
    const got = await patch(f, body);
    announce(f.archived ? words.saved : words.archivedOne(f.key));
    return got;
  },

  /** Deletes a flag. It can be undone for ten seconds. */
  async deleted(f: Row, undone: () => void): Promise<boolean> {
    const asked = await needsApproval(f, { deleted: true });
    if (!(await askFirst(words.deleteAsk(f.key), words.deleteText, asked ? approvalWords.request : words.delete))) return false;
    if (asked) {
      await requestApproval(f, { deleted: true }, words.delete, "");
      return false;
    }
    await patch(f, { deleted: true });
    announce(words.deleted(f.key), { label: words.undo, run: () => void patch(f, { deleted: false }).then(undone, showRefusal) });
    return true;
  },

  async tags(flags: string, all: (action: () => Promise<unknown>, patch: () => object) => Promise<void>): Promise<void> {
    const input = h("input", { type: "text", "data-first": "" });
    let tag = "";
    const asked = () =>
      dialog<boolean>({ title: words.addTag, onsubmit: () => input.closest("dialog")?.querySelector<HTMLButtonElement>(".primary")?.click() }, (d) => ({
        content: field(input, { label: words.tag, hint: flags }),
        buttons: h("button", { type: "button", class: "button primary", onclick: () => ((tag = input.value.trim()), d.close(tag !== "")) }, words.addTag),
      }));
    await all(asked, () => ({ add_tags: [tag] }));
  },
};
