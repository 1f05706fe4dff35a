// The actions on an insight besides editing.
import { h } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { field } from "../../ui/parts";
import { get, send } from "../../api/client";
import { titleOf, type Insight } from "../../api/insights";
import { go } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { insightWords } from "../../words/insights";
import { showRefusal } from "../flags/actions";

export const path = (id: number) => projectPath(`insights/${id}/`);

interface Choice {
  id: number;
  name: string | null;
}

/** Adds an insight to a dashboard. It returns the changed insight, or undefined after Cancel. */
export async function addToDashboard(i: Insight): Promise<Insight | undefined> {
  const all = (await get<{ results: Choice[] }>(projectPath("dashboards/"), { limit: 1000 })).results.filter((d) => !i.dashboards.includes(d.id));
  const box = h("select", { "data-first": "" }, all.map((d) => h("option", { value: d.id }, d.name || `#${d.id}`)));
  const chosen = await dialog<number>({ title: insightWords.addToDashboard }, (d) => ({
    content: all.length ? field(box, { label: insightWords.dashboard }) : h("p", null, insightWords.noDashboardsThere),
    buttons: h("button", { type: "button", class: "button primary", disabled: !all.length, onclick: () => d.close(Number(box.value)) }, insightWords.add),
  }));
  if (!chosen) return undefined;
  const got = await send<Insight>("PATCH", path(i.id), { dashboards: [...i.dashboards, chosen] });
  announce(insightWords.added(all.find((d) => d.id === chosen)?.name || ""));
  return got;
}

export async function duplicate(i: Insight): Promise<void> {
  const copy = await send<Insight>("POST", projectPath(`insights/${i.id}/duplicate/`), {});
  await go(`p/${project.peek()}/insights/${copy.id}`);
  announce(words.saved);
}

/** Deletes an insight. It can be undone for ten seconds. */
export async function remove(i: Insight): Promise<void> {
  if (!(await confirm(words.deleteAsk(titleOf(i)), insightWords.deleteText, words.delete))) return;
  await send("PATCH", path(i.id), { deleted: true });
  const at = `p/${project.peek()}/insights`;
  await go(at);
  const undo = () => void send("PATCH", path(i.id), { deleted: false }).then(() => go(`${at}/${i.id}`), showRefusal);
  announce(words.deleted(titleOf(i)), { label: words.undo, run: undo });
}
