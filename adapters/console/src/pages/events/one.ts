// One event, whole, and whose it is.
import { h, type Child } from "../../ui/dom";
import { dialog } from "../../ui/dialog";
import { facts } from "../../ui/table";
import { fullTime } from "../../ui/time";
import type { Event } from "../../api/events";
import { href } from "../../router";
import { project } from "../../session";
import { w } from "../../words";
import { we } from "../../words/events";

function nameOf(e: Event): string {
  const p = e.person?.properties ?? {};
  return String(p.email ?? p.name ?? e.distinct_id);
}

/** The person of an event, as a link. */
export const whoseEvent = (e: Event): Child => h("bdi", null, e.person ? h("a", { href: href(`p/${project.peek()}/people/${e.person_id}`) }, nameOf(e)) : e.distinct_id);

/** One event with all of its properties. */
export function openEvent(e: Event): Promise<void> {
  const row = (name: string, value: Child) => [h("dt", null, name), h("dd", null, value)];
  return dialog<void>({ title: e.event, wide: true, cancel: w.close }, () => ({
    content: [
      h("dl", { class: "facts" }, row(we.time, h("time", { datetime: e.timestamp }, fullTime(e.timestamp))), row(w.person, whoseEvent(e)), row(w.distinctID, h("bdi", { class: "code" }, e.distinct_id)), row(we.recorded, fullTime(e.created_at)), row(we.uuid, h("span", { class: "code" }, e.uuid))),
      facts(w.properties, [w.property, w.value], () => Object.entries(e.properties).sort(([a], [b]) => (a < b ? -1 : 1))),
    ],
    buttons: null,
  })).then(() => undefined);
}
