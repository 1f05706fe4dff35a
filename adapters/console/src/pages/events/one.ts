// The dialog of an event, and the link to its person.
import { h, type Child } from "../../ui/dom";
import { dialog } from "../../ui/dialog";
import { factTable } from "../../ui/table";
import { fullTime } from "../../ui/time";
import type { Event } from "../../api/events";
import { href } from "../../router";
import { project } from "../../session";
import { words } from "../../words";
import { eventWords } from "../../words/events";

function personName(e: Event): string {
  const p = e.person?.properties ?? {};
  return String(p.email ?? p.name ?? e.distinct_id);
}

/** Returns a link to the person of an event. */
export const eventPerson = (e: Event): Child => h("bdi", null, e.person ? h("a", { href: href(`p/${project.peek()}/people/${e.person_id}`) }, personName(e)) : e.distinct_id);

/** Opens a dialog with all properties of an event. */
export function openEvent(e: Event): Promise<void> {
  const row = (name: string, value: Child) => [h("dt", null, name), h("dd", null, value)];
  return dialog<void>({ title: e.event, wide: true, cancel: words.close }, () => ({
    content: [
      h("dl", { class: "facts" }, row(eventWords.time, h("time", { datetime: e.timestamp }, fullTime(e.timestamp))), row(words.person, eventPerson(e)), row(words.distinctID, h("bdi", { class: "code" }, e.distinct_id)), row(eventWords.recorded, fullTime(e.created_at)), row(eventWords.uuid, h("span", { class: "code" }, e.uuid))),
      factTable(words.properties, [words.property, words.value], () => Object.entries(e.properties).sort(([a], [b]) => (a < b ? -1 : 1))),
    ],
    buttons: null,
  })).then(() => undefined);
}
