// The page Events: stored events, newest first.
import { computed, effect, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { comboboxField } from "../../ui/combobox";
import { button, empty, field, heading, showResource } from "../../ui/parts";
import { more } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { projectZone, time } from "../../ui/time";
import { parseLocalTime } from "../../ui/zone";
import { resource } from "../../api/cache";
import { get, site, type Query } from "../../api/client";
import { eventNames, eventSummary, type Event } from "../../api/events";
import { param, setParams } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { eventWords } from "../../words/events";
import type { Person } from "../people/person";
import { openEvent, eventPerson } from "./one";

const filterNames = ["event", "person", "after", "before", "property"];

/** Returns the filter for the person of the query's distinct id. An unknown id is used as it is. */
function personFilter(): () => Query | null {
  const found = signal<Query | null>(null);
  const id = computed(() => param("person"));
  effect(() => {
    const distinctID = id();
    found.set(distinctID ? null : {});
    if (!distinctID) return;
    const settle = (q: Query) => distinctID === param("person") && found.set(q);
    get<{ results: Person[] }>(projectPath("persons/"), { distinct_id: distinctID }).then(
      (l) => settle(l.results[0] ? { person_id: l.results[0].uuid } : { distinct_id: distinctID }),
      () => settle({ distinct_id: distinctID }),
    );
  });
  return found;
}

/** Converts a filter such as plan=pro to JSON for the API. */
function propertyFilter(text: string): string {
  const separator = text.indexOf("=");
  return separator < 1 ? "" : JSON.stringify([{ key: text.slice(0, separator).trim(), value: text.slice(separator + 1).trim(), operator: "exact", type: "event" }]);
}

export default function eventsPage(): Child {
  const about = resource<{ api_token: string }>(() => ({ path: `projects/${project()}/` }));
  const who = personFilter();
  const instant = (name: string) => (param(name) ? parseLocalTime(param(name), projectZone()) : "");
  const query = computed(() => {
    const person = who();
    if (!person) return "";
    return JSON.stringify({ event: param("event"), ...person, after: instant("after"), before: instant("before"), properties: propertyFilter(param("property")), limit: 50 });
  });
  const list = pages<Event>(() => (query() ? { path: projectPath("events/"), query: JSON.parse(query()) as Query } : null));
  const filtered = () => filterNames.some((n) => param(n));
  return [
    heading(words.events),
    filters(),
    showResource(list, (data) => [
      when(() => data().length === 0 && !filtered(), () => empty(words.noEvents, eventWords.noEventsText, h("pre", { class: "snippet", tabindex: 0 }, h("code", null, () => snippet(about.data()?.api_token ?? ""))))),
      when(() => data().length === 0 && filtered() && !list.next(), () => empty(eventWords.noEventsMatch, words.noFlagsMatchText, button(words.clearFilters, { run: () => setParams(Object.fromEntries(filterNames.map((n) => [n, ""]))) }))),
      when(() => data().length === 0 && list.next(), () => h("p", { class: "meta" }, eventWords.lookedThrough)),
      when(() => data().length > 0, () => table(data)),
      more(list),
    ]),
  ];
}

const snippet = (token: string) => `curl -s '${site()}/capture/' -H 'Content-Type: application/json' -d '{"api_key":"${token}","event":"order placed","distinct_id":"ana"}'`;

const peopleNamed = (typed: string) =>
  get<{ results: Person[] }>(projectPath("persons/"), { search: typed, limit: 10 }).then((l) => l.results.map((p) => ({ value: p.distinct_ids[0] ?? "", text: p.name, note: p.distinct_ids[0] ?? "" })));

function filters(): HTMLElement {
  const box = (label: string, name: string, options: typeof eventNames) =>
    comboboxField({ label, value: () => param(name), options, change: (v) => setParams({ [name]: v.trim() }), free: true });
  const text = (label: string, name: string, hint: () => string, fault?: () => string | undefined) => {
    const input: HTMLInputElement = h("input", { type: "text", value: () => param(name), placeholder: hint, onchange: () => setParams({ [name]: input.value.trim() }) });
    return field(input, fault ? { label, fault } : { label });
  };
  const clock = (label: string, name: string) => text(label, name, () => eventWords.timeIn(projectZone()), () => (param(name) && !parseLocalTime(param(name), projectZone()) ? eventWords.noTime : undefined));
  return h(
    "div",
    { class: "filters low", role: "search", "aria-label": words.events },
    box(words.event, "event", eventNames),
    box(words.person, "person", peopleNamed),
    clock(eventWords.after, "after"),
    clock(eventWords.before, "before"),
    text(eventWords.propertyFilter, "property", () => eventWords.propertyHint),
  );
}

function table(data: () => Event[]): HTMLElement {
  return recordTable<Event>(
    words.events,
    [
      { label: eventWords.time, cell: (e) => () => time(e().timestamp), class: "meta when" },
      { label: words.event, cell: (e) => h("strong", null, h("bdi", null, () => e().event)) },
      { label: words.person, cell: (e) => () => eventPerson(e()), class: "clip-cell" },
      { label: words.properties, cell: (e) => h("bdi", null, () => eventSummary(e())), class: "meta clip-cell" },
      { label: "", cell: (e: Signal<Event>) => button(eventWords.show, { kind: "small", "aria-label": eventWords.showEvent(e.peek().event), run: () => void openEvent(e.peek()) }), class: "tight" },
    ],
    data,
    (e) => e.uuid,
  );
}
