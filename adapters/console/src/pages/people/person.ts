// The frame of a person's tabs, and the dialog that erases the person.
import { h, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { loadingBars, button, field, heading, problem } from "../../ui/parts";
import { time } from "../../ui/time";
import { get, send } from "../../api/client";
import { invalidate } from "../../api/cache";
import { go, href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { words } from "../../words";
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
  const person = signal<Person | undefined>(undefined);
  const fault = signal<unknown>(undefined);
  const load = () =>
    get<Person>(projectPath(`persons/${params.uuid}/`)).then(
      (p) => (person.set(p), fault.set(undefined)),
      (e: unknown) => fault.set(e),
    );
  void load();
  const at = `p/${project.peek()}/people/${params.uuid}`;
  return [
    heading(() => person()?.name ?? "…", when(person, () => h("a", { class: "button", href: () => href(`p/${project()}/why`, { person: person()!.distinct_ids[0] ?? "" }) }, words.why)), when(person, () => button(pinWords.pin, { scope: "feature_flag:write", run: () => pinValue({ person: pinSubject(person.peek()!) }).catch(showRefusal) })), when(person, () => button(words.erasePerson, { kind: "danger", scope: "person:write", run: () => erase(person.peek()!).catch(showRefusal) }))),
    when(person, () => h("p", { class: "meta gap" }, `${words.ids}: `, h("bdi", { class: "code" }, () => person()!.distinct_ids.join(", ")), ` · ${words.firstSeen} `, () => time(person()!.created_at))),
    h("nav", { "aria-label": words.person, class: "tabs" }, tabs.map(([path, label]) => h("a", { href: href(path ? `${at}/${path}` : at), "aria-current": path === tab ? "page" : null }, label))),
    () => (fault() ? problem(words.failed, fault(), () => void load()) : null),
    when(() => !person() && !fault(), () => loadingBars()),
    when(person, () => show(person as Signal<Person>)),
  ];
}

/** Returns the person as the subject of a pin. */
export const pinSubject = (p: Person) => ({ id: p.distinct_ids[0] ?? "", name: p.name });

/** Erases a person after the word erase was typed. It cannot be undone. */
async function erase(p: Person): Promise<void> {
  const word = signal("");
  const events: HTMLInputElement = h("input", { type: "checkbox", checked: true });
  const typed: HTMLInputElement = h("input", { type: "text", autocomplete: "off", oninput: () => word.set(typed.value.trim()) });
  const yes = await dialog<boolean>({ title: words.eraseAsk(p.name), alert: true }, (d) => ({
    content: [h("p", null, words.eraseText), h("label", { class: "check" }, events, words.eraseEvents), field(typed, { label: words.eraseType })],
    buttons: h("button", { type: "button", class: "button danger", disabled: () => word() !== words.eraseWord, onclick: () => d.close(true) }, words.erase),
  }));
  if (!yes) return;
  await send("DELETE", projectPath(`persons/${p.uuid}/?delete_events=${events.checked}`));
  invalidate("persons");
  await go(`p/${project.peek()}/people`);
  announce(words.erased(p.name));
}
