// The page Live: events as they arrive, newest first.
import { computed, effect, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { button, empty, heading } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { get } from "../../api/client";
import type { Event } from "../../api/events";
import { watch } from "../../api/watch";
import { href, param, setParams } from "../../router";
import { project, projectPath } from "../../session";
import { eventWords } from "../../words/events";
import { words } from "../../words";
import { openEvent, eventPerson } from "./one";

/** The maximum number of rows. */
const maxRows = 200;

export default function livePage(): Child {
  const rows = signal<readonly Event[]>([]);
  const left = signal(0);
  const paused = signal(false);
  const queryJSON = computed(() => JSON.stringify({ event: param("event"), person_id: param("person") }));
  const cleared = new Set<string>();
  const add = (e: Event) => {
    if (cleared.has(e.uuid) || rows.peek().some((r) => r.uuid === e.uuid)) return;
    rows.update((list) => [e, ...list].slice(0, maxRows));
  };
  const restart = () => {
    get<{ results: Event[] }>(projectPath("events/"), { ...(JSON.parse(queryJSON()) as object), limit: 20 }).then(
      (l) => l.results.reverse().forEach(add),
      () => undefined, // the stream is opened again later
    );
  };
  const live = watch(
    ["event", "dropped"],
    (name, data) => (name === "event" ? add(data as Event) : left.update((n) => n + (data as { n: number }).n)),
    restart,
  );
  effect(() => {
    queryJSON();
    rows.set([]);
    left.set(0);
    cleared.clear();
  });
  effect(() => live.watchPath(paused() ? null : projectPath("events/live/"), JSON.parse(queryJSON()) as Record<string, string>));
  const clear = () => {
    rows.peek().forEach((e) => cleared.add(e.uuid));
    rows.set([]);
    left.set(0);
  };
  const filter: HTMLInputElement = h("input", { type: "search", "aria-label": eventWords.filterByEvent, placeholder: eventWords.filterByEvent, value: () => param("event"), onchange: () => setParams({ event: filter.value.trim() }) });
  return [
    heading(eventWords.liveEvents, h("span", { role: "status", class: "meta", "aria-label": () => eventWords[live.state()] }, () => eventWords[live.state()])),
    h(
      "div",
      { class: "filters" },
      filter,
      () => (paused() ? button(eventWords.resume, { run: () => paused.set(false) }) : button(eventWords.pause, { run: () => paused.set(true) })),
      button(eventWords.clear, { run: clear }),
    ),
    when(() => left() > 0, () => h("p", { class: "meta" }, () => eventWords.leftOut(left()))),
    when(() => rows().length === 0, () => empty(eventWords.waitingForEvents, eventWords.waitingText)),
    when(() => rows().length > 0, () => table(rows)),
    when(() => rows().length >= maxRows, () => h("p", { class: "meta gap-above" }, eventWords.newestOnly(maxRows), " ", h("a", { href: () => href(`p/${project()}/events`, { event: param("event") }) }, words.events))),
  ];
}

function table(rows: () => readonly Event[]): HTMLElement {
  return recordTable<Event>(
    eventWords.liveEvents,
    [
      { label: eventWords.time, cell: (e) => () => time(e().timestamp), class: "meta when" },
      { label: words.event, cell: (e: Signal<Event>) => button(e.peek().event, { kind: "link", run: () => void openEvent(e.peek()) }) },
      { label: words.person, cell: (e) => () => eventPerson(e()), class: "clip-cell" },
    ],
    rows,
    (e) => e.uuid,
  );
}
