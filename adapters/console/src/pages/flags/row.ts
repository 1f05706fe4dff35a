// A row of the list of flags.
import { h, type Signal } from "../../ui/dom";
import { icon, statusIcon } from "../../ui/icons";
import { menu } from "../../ui/menu";
import { toggle } from "../../ui/toggle";
import { time } from "../../ui/time";
import { rolloutText, stateOf, stateWords, type Flag, type Row } from "../../api/flags";
import { go, href } from "../../router";
import { hasPage } from "../../routes";
import { project } from "../../session";
import { number, words } from "../../words";
import { lockReason } from "../flag/locked";
import { change, showRefusal } from "./actions";
import type { Chosen } from "./bulk";
import { copyDisabledReason, copyToProject, makeDisabledReason } from "./copyto";
import { fileTag } from "./file";
import type { Calls } from "./load";

interface Actions {
  put(f: Row): void;
  reload(): void;
}

type CallsOf = () => ReadonlyMap<number, Calls>;

export function flagRow(f: Signal<Row>, index: () => number, chosen: Chosen, calls: CallsOf, act: Actions): HTMLElement {
  const pick = () =>
    chosen.update((was) => {
      const now = new Map(was);
      if (!now.delete(f.peek().id)) now.set(f.peek().id, f.peek().key);
      return now;
    });
  const state = () => stateOf(f());
  const disabledReason = () => lockReason(f() as Flag);
  return h(
    "tr",
    { role: "row", "aria-rowindex": () => index() + 2 },
    h("td", { role: "cell", class: "tight" }, h("input", { type: "checkbox", "aria-label": () => words.select(f().key), checked: () => chosen().has(f().id), disabled: () => disabledReason() !== null, title: disabledReason, onchange: pick })),
    h("td", { role: "cell", class: "key" }, h("div", { class: "two" }, h("bdi", null, h("a", { class: "code", title: () => f().key, href: () => href(`p/${project()}/flags/${f().id}`) }, () => f().key)), h("span", { class: "meta" }, h("bdi", null, () => f().name), () => [f().definitions_file ? [" ", fileTag(f().definitions_file!)] : null, (f().tags ?? []).map((t) => [" ", h("span", { class: "tag" }, t)])]))),
    h("td", { role: "cell" }, h("span", { class: () => `state ${state()}`, title: () => f().status_reason ?? null }, () => statusIcon(state()), () => stateWords[state()])),
    h("td", { role: "cell", class: "clip" }, () => rolloutText(f())),
    h("td", { role: "cell", class: "number" }, () => (calls().has(f().id) ? number(calls().get(f().id)!.calls) : words.dash)),
    h("td", { role: "cell", class: "meta clip" }, () => time(f().updated_at), " ", () => f().last_modified_by?.first_name || f().last_modified_by?.email || ""),
    h("td", { role: "cell", class: "tight" }, toggle(() => words.enabled(f().key), () => f().active, () => change.active(f.peek()).then((got) => got && act.put(got), showRefusal), disabledReason)),
    h("td", { role: "cell", class: "tight" }, menu(() => words.moreAbout(f().key), icon("more"), () => items(f.peek(), act), "button quiet icon-only")),
  );
}

function items(f: Row, act: Actions) {
  const disabledReason = lockReason(f as Flag);
  const at = `p/${project.peek()}`;
  return [
    { label: words.why, available: hasPage(`${at}/why`), run: () => void go(`${at}/why`, { flag: f.key }) },
    { label: words.copy, disabled: makeDisabledReason(), run: () => void go(`${at}/flags/new`, { from: String(f.id) }) },
    { label: words.copyToProject, disabled: copyDisabledReason(), run: () => void copyToProject(f) },
    { label: f.archived ? words.unarchive : words.archive, disabled: disabledReason, run: () => void change.archived(f).then((got) => got && act.reload(), showRefusal) },
    { label: words.delete, disabled: disabledReason, danger: true, line: true, run: () => void change.deleted(f, act.reload).then((gone) => gone && act.reload(), showRefusal) },
  ];
}
