// The list of people, with a search by email address, name or distinct id.
import { each, h, when, type Child, type Signal } from "../../ui/dom";
import { heading } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { idsText, searchBox } from "../../ui/searchbox";
import { time } from "../../ui/time";
import { href, param } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { personWords } from "../../words/personflags";
import { propertiesInAddress, propertyFilters } from "./filters";
import type { Person } from "./person";

export default function people(): Child {
  const list = pages<Person>(() => ({ path: projectPath("persons/"), query: { search: param("search"), properties: propertiesInAddress(), limit: 50 } }));
  return [
    heading(words.people),
    h("div", { class: "filters", role: "search", "aria-label": words.people }, searchBox(words.searchPeople)),
    propertyFilters(list.error),
    listOf(list, () => noneOf(["search", "property"], words.noPeopleMatch, words.noPeople, words.noPeopleText), table),
    when(() => list.data()?.length === 0 && list.next(), () => h("p", { class: "meta gap-above" }, personWords.lookedThrough)),
  ];
}

function table(data: () => Person[]): HTMLElement {
  const row = (p: Signal<Person>) =>
    h(
      "tr",
      null,
      h("td", null, h("bdi", null, h("a", { href: () => href(`p/${project()}/people/${p().uuid}`) }, () => p().name))),
      h("td", { class: "code clip-cell" }, h("bdi", null, () => idsText(p().distinct_ids))),
      h("td", { class: "meta" }, () => time(p().created_at)),
      h("td", { class: "meta" }, () => time(p().last_seen_at) ?? words.dash),
    );
  return h(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": words.people },
    h("table", { "aria-label": words.people }, h("thead", null, h("tr", null, [words.person, words.distinctIDs, words.firstSeen, words.lastSeen].map((t) => h("th", { scope: "col" }, t)))), h("tbody", null, each(data, (p) => p.uuid, row))),
  );
}
