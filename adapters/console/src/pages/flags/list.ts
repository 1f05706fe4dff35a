// The list of flags: search, filters, order, switches and bulk actions.
import { computed, effect, h, onEnd, signal, untracked, when, type Child, type Signal } from "../../ui/dom";
import { button, empty, heading, problem, loadingBars, select } from "../../ui/parts";
import { icon } from "../../ui/icons";
import { rows } from "../../ui/rows";
import { invalidate, resource } from "../../api/cache";
import { onChange, onMissedChanges } from "../../changes";
import type { Row } from "../../api/flags";
import { go, param, setParams } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { flagListWords } from "../../words/flaglist";
import { bulk, selectAll, type Chosen } from "./bulk";
import { loadFlags, type FlagList } from "./load";
import { flagRow } from "./row";

const refreshInterval = 500; // milliseconds in which changes are collected before their flags are loaded again
const maxTags = 1000; // tags that the filter offers

/** The columns of the table, and their names in the API if the list can be sorted by them. */
const columns: [string, string | null, string][] = [
  [words.key, "key", "key"],
  [words.status, "status", ""],
  [words.rollout, null, ""],
  [words.calls7, null, "number"],
  [words.changed, "updated_at", ""],
  [words.on, null, "tight"],
];

const filterNames = ["search", "status", "type", "tag", "mine"];

export default function flagsPage(): Child {
  const list = loadFlags();
  const { total, error, reload } = list;
  const typed = signal(param("search")); // the text in the search field, before it is in the URL
  const chosen: Chosen = signal(new Map());
  followChanges(list);
  const filtered = () => typed() !== "" || filterNames.some((n) => param(n));
  const clear = () => (typed.set(""), setParams(Object.fromEntries(filterNames.map((n) => [n, ""]))));
  const put = (f: Row) => {
    invalidate("feature_flags");
    list.put(f);
  };

  const some = computed(() => (total() === null ? null : total()! > 0));
  return [
    heading(words.flags, button(words.newFlag, { kind: "primary", scope: "feature_flag:write", run: () => go(`p/${project.peek()}/flags/new`) })),
    filters(list, typed),
    () => (error() ? problem(words.failed, error(), reload) : null),
    () => {
      const n = some();
      if (n === null) return error() ? null : loadingBars(10);
      if (!n) return filtered() ? empty(words.noFlagsMatch, words.noFlagsMatchText, button(words.clearFilters, { run: clear })) : empty(words.noFlags, words.noFlagsText);
      return untracked(table);
    },
    when(() => chosen().size > 0, () => bulk(chosen, reload)),
  ];

  function table(): HTMLElement {
    const body = h("tbody", { role: "rowgroup" });
    const el = h(
      "table",
      { class: "flags cards", "aria-label": words.flags, "aria-rowcount": () => (total() ?? 0) + 1, role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row", "aria-rowindex": 1 }, h("td", { class: "tight", role: "cell" }, selectAll(chosen, list)), columns.map(head), h("td", { class: "tight", role: "cell" }))),
      body,
    );
    rows<Row>(body, list, (f) => f.id, (f, i) => flagRow(f, i, chosen, list.calls, { put, reload }), columns.length + 2);
    return h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": words.flags, "aria-busy": list.waiting }, el);
  }
}

/** Loads the flags that others change again, several at a time, while the page is visible. */
function followChanges(list: FlagList): void {
  const ids = new Set<number>();
  let timer = 0;
  const flush = () => {
    timer = 0;
    if (document.hidden || !ids.size) return;
    void list.refresh(new Set(ids));
    ids.clear();
  };
  const schedule = () => (timer ||= setTimeout(flush, refreshInterval));
  onChange("FeatureFlag", (c) => (ids.add(Number(c.item_id)), schedule()));
  onMissedChanges(list.reload);
  document.addEventListener("visibilitychange", schedule);
  onEnd(() => {
    document.removeEventListener("visibilitychange", schedule);
    clearTimeout(timer);
  });
}

function head([label, order, cls]: (typeof columns)[number]): HTMLElement {
  if (!order) return h("th", { scope: "col", role: "columnheader", class: cls }, label);
  const sortOrder = () => param("sort") || "key";
  const sortDirection = () => (sortOrder() === order ? "ascending" : sortOrder() === "-" + order ? "descending" : "none");
  const next = () => setParams({ sort: sortOrder() === order ? "-" + order : order === "key" ? "" : order });
  return h(
    "th",
    { scope: "col", role: "columnheader", class: cls, "aria-sort": sortDirection },
    h("button", { type: "button", "aria-label": words.sortBy(label), onclick: next }, label, () => (sortDirection() === "none" ? null : icon(sortDirection() === "ascending" ? "up" : "down"))),
  );
}

/** Returns the options of the filter Tag. The server is asked for all tags once the person needs them or not all flags are loaded. */
function tagOptions(list: FlagList): { options: () => [string, string][]; load: () => void } {
  const wanted = signal(false);
  const all = resource<{ count: number; results: string[] }>(() => (wanted() ? { path: projectPath("feature_flags/tags/"), query: { limit: maxTags } } : null));
  effect(() => wanted() || (list.loaded().length < (list.total() ?? 0) && wanted.set(true)));
  const known = computed(() => [...new Set([...(all.data()?.results ?? list.loaded().flatMap((f) => f.tags ?? [])), ...(param("tag") ? [param("tag")] : [])])].sort().join("\n"));
  const options = (): [string, string][] => {
    const tags = known().split("\n").filter(Boolean);
    const more = (all.data()?.count ?? 0) - maxTags;
    return [["", words.anyTag], ...tags.map((t): [string, string] => [t, t]), ...(more > 0 ? [["", flagListWords.moreTags(more)] as [string, string]] : [])];
  };
  return { options, load: () => wanted.set(true) };
}

function filters(list: FlagList, typed: Signal<string>): HTMLElement {
  let timer = 0;
  const search = h("input", {
    type: "search",
    "aria-label": words.searchFlags,
    placeholder: words.searchFlags,
    oninput: () => {
      typed.set(search.value);
      clearTimeout(timer);
      timer = setTimeout(() => setParams({ search: search.value }), 120);
    },
  });
  onEnd(() => clearTimeout(timer));
  effect(() => {
    if (document.activeElement !== search) typed.set(param("search"));
    search.value = typed();
  });
  const choice = (label: string, name: string, options: () => (readonly [string, string])[]) => {
    const control = select(() => param(name), options, (v) => setParams({ [name]: v }), { "aria-label": label });
    return h("label", { class: "inline" }, h("span", null, label), control);
  };
  const tags = tagOptions(list);
  const tag = choice(words.tag, "tag", tags.options);
  tag.addEventListener("focusin", tags.load);
  tag.addEventListener("pointerenter", tags.load);
  const mine: HTMLInputElement = h("input", { type: "checkbox", checked: () => param("mine") === "1", onchange: () => setParams({ mine: mine.checked ? "1" : "" }) });
  return h(
    "div",
    { class: "filters", role: "search", "aria-label": words.flags },
    search,
    choice(words.status, "status", () => [["", words.anyStatus], ["on", words.on], ["off", words.off], ["stale", words.stale], ["archived", words.archived]]),
    choice(words.type, "type", () => [["", words.anyType], ["boolean", words.boolean], ["multivariant", words.multivariate], ["remote_config", words.remoteConfig], ["experiment", words.experiment]]),
    tag,
    h("label", { class: "check" }, mine, words.mine),
    h("p", { role: "status" }, () => (list.total() === null ? "" : words.nFlags(list.total()!))),
  );
}
