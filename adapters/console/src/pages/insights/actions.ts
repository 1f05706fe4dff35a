// The actions on an insight besides editing.
import { h, signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { field, select } from "../../ui/parts";
import { send } from "../../api/client";
import { titleOf, type Insight } from "../../api/insights";
import { cutOption, wholeList } from "../../api/wholelist";
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
  const list = wholeList<Choice>(projectPath("dashboards/"), "dashboard:read");
  await list.first;
  const others = () => list.rows().filter((x) => !i.dashboards.includes(x.id));
  const id = signal(String(others()[0]?.id ?? ""));
  const options = () => [...others().map((x) => [String(x.id), x.name || `#${x.id}`] as const), ...cutOption(list)];
  const chosen = await dialog<Choice>({ title: insightWords.addToDashboard }, (d) => ({
    content: others().length ? field(select(id, options, id.set, { "data-first": "" }), { label: insightWords.dashboard }) : h("p", null, insightWords.noDashboardsThere),
    buttons: h("button", { type: "button", class: "button primary", disabled: () => !id(), onclick: () => d.close(others().find((x) => String(x.id) === id())) }, insightWords.add),
  }));
  if (!chosen) return undefined;
  const got = await send<Insight>("PATCH", path(i.id), { dashboards: [...i.dashboards, chosen.id] });
  announce(insightWords.added(chosen.name || ""));
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
