// The pinned values of a flag for people and groups (console.md N11).
import { h, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { button, showResource } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { fullTime } from "../../ui/time";
import { resource, invalidate } from "../../api/cache";
import { send } from "../../api/client";
import type { Flag } from "../../api/flags";
import { href } from "../../router";
import { projectPath, project } from "../../session";
import { pinWords } from "../../words/pins";
import { showRefusal } from "../flags/actions";
import { pinValue, subjectName, type Pin } from "../pin";
import { lockReason } from "./locked";

/** Returns the region Pinned values. changed is called after each pin that is added or removed. */
export function pins(flag: Signal<Flag>, changed: () => void): HTMLElement {
  const list = resource<{ results: Pin[] }>(() => ({ path: projectPath(`feature_flags/${flag().id}/pins/`), query: { limit: 100 } }));
  const again = () => (invalidate(`feature_flags/${flag.peek().id}/`), list.reload(), changed());
  const pin = async () => void ((await pinValue({ flag: flag.peek() })) && again());
  const unpin = async (p: Pin) => {
    if (!(await confirm(pinWords.unpinAsk(subjectName(p)), pinWords.unpinText, pinWords.unpin))) return;
    await send("DELETE", projectPath(`feature_flags/${flag.peek().id}/pins/${p.id}/`));
    again();
    announce(pinWords.unpinned(subjectName(p)));
  };
  return h(
    "section",
    { "aria-label": pinWords.pins, class: "gap-above" },
    h("div", { class: "between gap" }, h("h2", null, pinWords.pins), button(pinWords.pin, { disabledReason: () => lockReason(flag()), run: () => pin().catch(showRefusal) })),
    h("p", { class: "meta" }, pinWords.text),
    showResource(list, (data) => [
      when(() => data().results.length === 0, () => h("p", { class: "meta" }, pinWords.none)),
      when(() => data().results.length > 0, () => table(flag, () => data().results, (p) => unpin(p).catch(showRefusal))),
    ]),
  );
}

function table(flag: Signal<Flag>, list: () => Pin[], unpin: (p: Pin) => unknown): Child {
  const link = (p: Pin) => (p.person?.uuid ? h("a", { href: href(`p/${project()}/people/${p.person.uuid}`) }, subjectName(p)) : subjectName(p));
  return recordTable<Pin>(
    pinWords.pins,
    [
      { label: pinWords.person, cell: (p) => h("bdi", null, () => link(p())) },
      { label: pinWords.value, cell: (p) => h("bdi", null, () => String(p().value)) },
      { label: pinWords.until, cell: (p) => () => (p().expires_at ? h("time", { datetime: p().expires_at }, fullTime(p().expires_at!)) : pinWords.never) },
      { label: pinWords.note, cell: (p) => h("bdi", null, () => p().note), class: "long" },
      { label: pinWords.by, cell: (p) => h("bdi", null, () => p().created_by?.email ?? ""), class: "meta" },
      { label: "", cell: (p) => button(pinWords.unpin, { kind: "small", "aria-label": () => pinWords.unpinOf(subjectName(p())), disabledReason: () => lockReason(flag()), run: () => unpin(p.peek()) }), class: "tight" },
    ],
    list,
    (p) => p.id,
  );
}
