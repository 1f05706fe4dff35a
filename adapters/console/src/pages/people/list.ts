// The list of people, with a search by email address, name or distinct id.
import { each, effect, h, type Child, type Signal } from "../../ui/dom";
import { heading } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { time } from "../../ui/time";
import { href, param, setParams } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import type { Person } from "./person";

export default function people(): Child {
  const list = pages<Person>(() => ({ path: projectPath("persons/"), query: { search: param("search"), limit: 50 } }));
  return [
    heading(words.people),
    h("div", { class: "filters", role: "search", "aria-label": words.people }, searchBox(words.searchPeople)),
    listOf(list, () => noneOf(["search"], words.noPeopleMatch, words.noPeople, words.noPeopleText), table),
  ];
}

/** Returns a search field whose text is in the URL. */
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
    const search = param("search");
    if (document.activeElement !== input) input.value = search;
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
      h("td", { class: "meta" }, () => time(p().last_seen_at) ?? words.dash),
    );
  return h(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": words.people },
    h("table", { "aria-label": words.people }, h("thead", null, h("tr", null, [words.person, words.distinctIDs, words.firstSeen, words.lastSeen].map((t) => h("th", { scope: "col" }, t)))), h("tbody", null, each(data, (p) => p.uuid, row))),
  );
}
