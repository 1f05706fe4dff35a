// A row of the list of flags.
import { assign, effect, h, type Signal } from "../../ui/dom";
import { moreMenu } from "../../ui/menu";
import { toggle } from "../../ui/toggle";
import { setTime } from "../../ui/time";
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

type CallsOf = (id: number) => Calls | undefined;

export function flagRow(f: Signal<Row>, index: () => number, chosen: Chosen, calls: CallsOf, act: Actions): HTMLElement {
  const pick = () =>
    chosen.update((was) => {
      const now = new Map(was);
      if (!now.delete(f.peek().id)) now.set(f.peek().id, f.peek().key);
      return now;
    });
  const disabledReason = () => lockReason(f() as Flag);
  const text = () => document.createTextNode("");
  const [keyText, nameText, stateText, rollout, count, by] = [text(), text(), text(), text(), text(), text()];
  const box = h("input", { type: "checkbox", onchange: pick });
  const link = h("a", { class: "code", dir: "auto" }, keyText);
  const about = h("span", { class: "meta" }, h("bdi", null, nameText));
  const state = h("td", { role: "cell" }, stateText);
  const changed = h("time");
  let shown = ""; // the state that is shown
  // One effect changes what differs: a row is used for many flags while the list is scrolled.
  effect(() => {
    const { id, key, name, status_reason, definitions_file, tags, updated_at, last_modified_by } = f();
    const reason = disabledReason();
    assign(box, "aria-label", words.select(key));
    assign(box, "title", reason);
    box.disabled = reason !== null;
    assign(link, "title", key);
    assign(link, "href", href(`p/${project()}/flags/${id}`));
    put(keyText, key);
    put(nameText, name);
    while (about.childNodes.length > 1) about.lastChild!.remove();
    if (definitions_file) about.append(" ", fileTag(definitions_file));
    for (const t of tags ?? []) about.append(" ", h("span", { class: "tag" }, t));
    const now = stateOf(f());
    if (now !== shown) {
      state.className = `state ${now}`;
      assign(state, "data-mark", now);
      put(stateText, stateWords[now]);
      shown = now;
    }
    assign(state, "title", status_reason);
    put(rollout, rolloutText(f()));
    setTime(changed, updated_at);
    put(by, ` ${last_modified_by?.first_name || last_modified_by?.email || ""}`);
  });
  effect(() => void (box.checked = chosen().has(f().id)));
  effect(() => {
    const got = calls(f().id);
    put(count, got ? number(got.calls) : words.dash);
  });
  return h(
    "tr",
    { role: "row", "aria-rowindex": () => index() + 2 },
    h("td", { role: "cell", class: "tight" }, box),
    h("td", { role: "cell", class: "key" }, link, h("br"), about),
    state,
    h("td", { role: "cell", class: "clip" }, rollout),
    h("td", { role: "cell", class: "number" }, count),
    h("td", { role: "cell", class: "meta clip" }, changed, by),
    h("td", { role: "cell", class: "tight" }, toggle(() => words.enabled(f().key), () => f().active, () => change.active(f.peek()).then((got) => got && act.put(got), showRefusal), disabledReason)),
    h("td", { role: "cell", class: "tight" }, moreMenu(() => words.moreAbout(f().key), () => items(f.peek(), act))),
  );
}

/** Changes a text if it differs. */
function put(node: Text, text: string): void {
  if (node.data !== text) node.data = text;
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
