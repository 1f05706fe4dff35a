// People, found by e-mail, name or distinct id.
import { each, effect, h, when, type Child, type Signal } from "../../ui/dom";
import { button, empty, heading, shown } from "../../ui/parts";
import { pages } from "../../ui/pages";
import { time } from "../../ui/time";
import { href, param, setParams } from "../../router";
import { inProject, project } from "../../session";
import { w } from "../../words";
import type { Person } from "./person";

export default function people(): Child {
  const list = pages<Person>(() => ({ path: inProject("persons/"), query: { search: param("search"), limit: 50 } }));
  return [
    heading(w.people),
    h("div", { class: "filters", role: "search", "aria-label": w.people }, searchBox(w.searchPeople)),
    shown(list, (data) => [
      when(() => data().length === 0 && param("search"), () => empty(w.noPeopleMatch, w.noFlagsMatchText, button(w.clearFilters, { run: () => setParams({ search: "" }) }))),
      when(() => data().length === 0 && !param("search"), () => empty(w.noPeople, w.noPeopleText)),
      when(() => data().length > 0, () => table(data)),
      when(list.next, () => h("p", { class: "gap-above" }, button(w.loadMore, { run: list.more }))),
    ]),
  ];
}

/** A search whose words stand in the address. */
export function searchBox(label: string): HTMLElement {
  let timer = 0;
  const input: HTMLInputElement = h("input", {
    type: "search",
    "aria-label": label,
    placeholder: label,
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => setParams({ search: input.value }), 150);
    },
  });
  effect(() => {
    const words = param("search");
    if (document.activeElement !== input) input.value = words;
  });
  return input;
}

function table(data: () => Person[]): HTMLElement {
  const row = (p: Signal<Person>) =>
    h(
      "tr",
      null,
      h("td", null, h("bdi", null, h("a", { href: () => href(`p/${project()}/people/${p().uuid}`) }, () => p().name))),
      h("td", { class: "code clip-cell" }, h("bdi", null, () => p().distinct_ids.slice(0, 3).join(", "))),
      h("td", { class: "meta" }, () => time(p().created_at)),
      h("td", { class: "meta" }, () => time(p().last_seen_at) ?? w.dash),
    );
  return h(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": w.people },
    h("table", { "aria-label": w.people }, h("thead", null, h("tr", null, [w.person, w.distinctIDs, w.firstSeen, w.lastSeen].map((t) => h("th", { scope: "col" }, t)))), h("tbody", null, each(data, (p) => p.uuid, row))),
  );
}
