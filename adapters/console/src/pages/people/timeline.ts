// The tab Timeline of a person: their events, newest first.
import { each, h, when, type Child, type Signal } from "../../ui/dom";
import { button, field, select, showResource } from "../../ui/parts";
import { pages } from "../../ui/pages";
import { time } from "../../ui/time";
import { resource } from "../../api/cache";
import { eventSummary, type Event } from "../../api/events";
import { param, setParams } from "../../router";
import type { Params } from "../../routes";
import { projectPath } from "../../session";
import { words } from "../../words";
import { personPage, type Person } from "./person";

export default function timeline(params: Params): Child {
  return personPage(params, "", events);
}

function events(person: Signal<Person>): Child {
  const list = pages<Event>(() => ({ path: projectPath("events/"), query: { person_id: person().uuid, event: param("event"), limit: 50 } }));
  const names = resource<{ results: { name: string }[] }>(() => ({ path: projectPath("event_definitions/"), query: { limit: 100 } }));
  const options = () => [["", words.anyEvent] as const, ...(names.data()?.results ?? []).map((e) => [e.name, e.name] as const)];
  return [
    h("div", { class: "filters" }, field(select(() => param("event"), options, (v) => setParams({ event: v })), { label: words.event })),
    showResource(list, (data) => [
      when(() => data().length === 0, () => h("p", { class: "meta" }, words.noEvents)),
      h("ul", { class: "rows", "aria-label": words.timeline }, each(data, (e) => e.uuid, (e) => h("li", null, h("span", { class: "meta when" }, () => time(e().timestamp)), h("strong", null, h("bdi", null, () => e().event)), h("span", { class: "meta clip" }, h("bdi", null, () => eventSummary(e())))))),
      when(list.next, () => h("p", { class: "gap-above" }, button(words.loadMore, { run: list.more }))),
    ]),
  ];
}
