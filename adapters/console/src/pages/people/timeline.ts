// The tab Timeline of a person: their events, newest first.
import { each, h, when, type Child, type Signal } from "../../ui/dom";
import { comboboxField } from "../../ui/combobox";
import { showResource } from "../../ui/parts";
import { more } from "../../ui/list";
import { pages } from "../../ui/pages";
import { time } from "../../ui/time";
import { eventNames, eventSummary, type Event } from "../../api/events";
import { param, setParams } from "../../router";
import type { Params } from "../../routes";
import { projectPath } from "../../session";
import { words } from "../../words";
import { eventWords } from "../../words/events";
import { personPage, type Person } from "./person";

export default function timeline(params: Params): Child {
  return personPage(params, "", events);
}

function events(person: Signal<Person>): Child {
  const list = pages<Event>(() => ({ path: projectPath("events/"), query: { person_id: person().uuid, event: param("event"), limit: 50 } }));
  return [
    h("div", { class: "filters" }, comboboxField({ label: words.event, value: () => param("event"), options: eventNames, change: (v) => setParams({ event: v.trim() }), free: true, placeholder: words.anyEvent })),
    showResource(list, (data) => [
      when(() => data().length === 0, () => h("p", { class: "meta" }, () => (param("event") ? eventWords.noEventsMatch : words.noEvents))),
      h("ul", { class: "rows", "aria-label": words.timeline }, each(data, (e) => e.uuid, (e) => h("li", null, h("span", { class: "meta when" }, () => time(e().timestamp)), h("strong", null, h("bdi", null, () => e().event)), h("span", { class: "meta clip" }, h("bdi", null, () => eventSummary(e())))))),
      more(list),
    ]),
  ];
}
