// The frame of a person's tabs, and the dialog that erases the person.
import { h, newID, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { button, field } from "../../ui/parts";
import { loadRecord, recordPage, tabLinks } from "../../ui/record";
import { time } from "../../ui/time";
import { get, send } from "../../api/client";
import { go, href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { personWords } from "../../words/personflags";
import { pinWords } from "../../words/pins";
import { showRefusal } from "../flags/actions";
import { pinValue } from "../pin";

export interface Person {
  id: number;
  uuid: string;
  name: string;
  distinct_ids: string[];
  properties: Record<string, unknown>;
  created_at: string;
  last_seen_at?: string | null;
}

const tabs: [string, string][] = [
  ["", words.timeline],
  ["properties", words.properties],
  ["flags", words.flags],
  ["cohorts", words.cohorts],
];

/** Loads a person and shows a tab below their frame. */
export function personPage(params: Params, tab: string, show: (person: Signal<Person>) => Child): Child {
  const at = `p/${project.peek()}/people/${params.uuid}`;
  return recordPage<Person>({
    record: loadRecord(() => get<Person>(projectPath(`persons/${params.uuid}/`))),
    title: (p) => p.name,
    list: { label: words.people, path: "people" },
    actions: (person) => [
      h("a", { class: "button", href: () => href(`p/${project()}/why`, { person: person().distinct_ids[0] ?? "" }) }, words.why),
      button(pinWords.pin, { scope: "feature_flag:write", run: () => pinValue({ person: pinSubject(person.peek()) }).catch(showRefusal) }),
      button(words.erasePerson, { kind: "danger", scope: "person:write", run: () => erase(person.peek()).catch(showRefusal) }),
    ],
    facts: (person) => h("p", { class: "meta gap" }, `${words.ids}: `, h("bdi", { class: "code" }, () => person().distinct_ids.join(", ")), ` · ${words.firstSeen} `, () => time(person().created_at)),
    tabs: tabLinks(words.person, tabs, at, tab),
    show,
  });
}

/** Returns the person as the subject of a pin. */
export const pinSubject = (p: Person) => ({ id: p.distinct_ids[0] ?? "", name: p.name });

interface Erasure {
  events: number;
  exact: boolean;
}

/** Says how many events an erasure deletes or keeps (console.md N26). */
function erasureText(e: Erasure | undefined, failed: boolean, withEvents: boolean): string {
  if (failed || (e && !e.exact && !e.events)) return personWords.uncounted;
  if (!e) return personWords.counting;
  return (withEvents ? personWords.eventsErased : personWords.eventsKept)(e.events, e.exact);
}

/** Erases a person after the word erase was typed. It cannot be undone. */
async function erase(p: Person): Promise<void> {
  const word = signal("");
  const withEvents = signal(true);
  const counted = signal<Erasure | undefined>(undefined);
  const failed = signal(false);
  const cancel = new AbortController();
  get<Erasure>(projectPath(`persons/${p.uuid}/erasure/`), {}, cancel.signal).then(counted.set, () => failed.set(true));
  const about = newID();
  const events: HTMLInputElement = h("input", { type: "checkbox", checked: true, "aria-describedby": about, onchange: () => withEvents.set(events.checked) });
  const typed: HTMLInputElement = h("input", { type: "text", autocomplete: "off", oninput: () => word.set(typed.value.trim()) });
  const yes = await dialog<boolean>({ title: words.eraseAsk(p.name), alert: true }, (d) => ({
    content: [h("p", null, words.eraseText), h("div", null, h("label", { class: "check" }, events, words.eraseEvents), h("p", { class: "hint", id: about, role: "status" }, () => erasureText(counted(), failed(), withEvents()))), field(typed, { label: words.eraseType })],
    buttons: h("button", { type: "button", class: "button danger", disabled: () => word() !== words.eraseWord, onclick: () => d.close(true) }, words.erase),
  }));
  cancel.abort();
  if (!yes) return;
  await send("DELETE", projectPath(`persons/${p.uuid}/?delete_events=${events.checked}`));
  await go(`p/${project.peek()}/people`);
  announce(words.erased(p.name));
}
