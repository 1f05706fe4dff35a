// The list of flags: search, filters, order, switches and bulk actions.
import { computed, effect, h, onEnd, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { button, empty, heading, problem, loadingBars, select } from "../../ui/parts";
import { icon } from "../../ui/icons";
import { rows } from "../../ui/rows";
import { invalidate } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import { onChange } from "../../changes";
import type { Row } from "../../api/flags";
import { go, param, setParams } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { askFirst, change } from "./actions";
import { loadFlags } from "./load";
import { flagRow } from "./row";

const maxPerRequest = 200; // the maximum number of flags that one request changes

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
  const loaded = loadFlags();
  const { list, matching: shown, total, error, calls, typed, reload } = loaded;
  const chosen = signal<ReadonlySet<number>>(new Set());
  let soon = 0;
  onChange("FeatureFlag", () => (clearTimeout(soon), (soon = setTimeout(reload, 500))));
  onEnd(() => clearTimeout(soon));
  const filtered = () => typed() !== "" || filterNames.some((n) => param(n));
  const clear = () => (typed.set(""), setParams(Object.fromEntries(filterNames.map((n) => [n, ""]))));
  const put = (f: Row) => {
    invalidate("feature_flags");
    list.update((all) => all.map((x) => (x.id === f.id ? { ...x, ...f } : x)));
  };
  const actions = { put, drop: (f: Row) => (list.update((all) => all.filter((x) => x.id !== f.id)), reload()), reload };

  const some = computed(() => (total() === null ? null : total()! > 0));
  return [
    heading(words.flags, button(words.newFlag, { kind: "primary", scope: "feature_flag:write", run: () => go(`p/${project.peek()}/flags/new`) })),
    filters(total, list, typed),
    () => (error() ? problem(words.failed, error(), reload) : null),
    () => {
      const n = some();
      if (n === null) return error() ? null : loadingBars(10);
      if (!n) return filtered() ? empty(words.noFlagsMatch, words.noFlagsMatchText, button(words.clearFilters, { run: clear })) : empty(words.noFlags, words.noFlagsText);
      return table();
    },
    () => (chosen().size ? bulk(chosen, list, reload) : null),
  ];

  function table(): HTMLElement {
    const body = h("tbody", { role: "rowgroup" });
    const el = h(
      "table",
      { class: "flags cards", "aria-label": words.flags, "aria-rowcount": () => (total() ?? 0) + 1, role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row", "aria-rowindex": 1 }, h("td", { class: "tight", role: "cell" }), columns.map(head), h("td", { class: "tight", role: "cell" }))),
      body,
    );
    rows(body, shown, (f) => f.id, (f, i) => flagRow(f, i, chosen, calls, actions), columns.length + 2);
    return h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": words.flags }, el);
  }
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

function filters(total: () => number | null, list: () => readonly Row[], typed: Signal<string>): HTMLElement {
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
  const known = computed(() => [...new Set([...list().flatMap((f) => f.tags ?? []), ...(param("tag") ? [param("tag")] : [])])].sort().join("\n"));
  const choice = (label: string, name: string, options: () => (readonly [string, string])[]) =>
    h("label", { class: "inline" }, h("span", null, label), select(() => param(name), options, (v) => setParams({ [name]: v }), { "aria-label": label }));
  const mine: HTMLInputElement = h("input", { type: "checkbox", checked: () => param("mine") === "1", onchange: () => setParams({ mine: mine.checked ? "1" : "" }) });
  return h(
    "div",
    { class: "filters", role: "search", "aria-label": words.flags },
    search,
    choice(words.status, "status", () => [["", words.anyStatus], ["on", words.on], ["off", words.off], ["stale", words.stale], ["archived", words.archived]]),
    choice(words.type, "type", () => [["", words.anyType], ["boolean", words.boolean], ["multivariant", words.multivariate], ["remote_config", words.remoteConfig], ["experiment", words.experiment]]),
    choice(words.tag, "tag", () => [["", words.anyTag], ...known().split("\n").filter(Boolean).map((t) => [t, t] as const)]),
    h("label", { class: "check" }, mine, words.mine),
    h("p", { role: "status" }, () => (total() === null ? "" : words.nFlags(total()!))),
  );
}

/** Returns the bar of bulk actions on the selected flags. Each flag that is refused is shown with the reason. */
function bulk(chosen: ReturnType<typeof signal<ReadonlySet<number>>>, list: () => readonly Row[], reload: () => void): HTMLElement {
  const selected = () => list().filter((f) => chosen().has(f.id));
  const all = async (ask1: () => Promise<unknown>, patch: () => object) => {
    if (!(await ask1())) return;
    const refused: string[] = [];
    const flags = selected();
    for (let i = 0; i < flags.length; i += maxPerRequest) {
      const some = flags.slice(i, i + maxPerRequest);
      try {
        const { results } = await send<{ results: { ok: boolean; error: string | null }[] }>("POST", projectPath("feature_flags/bulk/"), { ids: some.map((f) => f.id), patch: patch() });
        results.forEach((r, j) => r.ok || refused.push(`${some[j]!.key}: ${r.error ?? ""}`));
      } catch (e) {
        refused.push(...some.map((f) => `${f.key}: ${e instanceof ApiError ? e.detail : String(e)}`));
      }
    }
    chosen.set(new Set());
    announce(refused.length ? words.bulkFailed(refused.length, refused.join(" ")) : words.saved);
    reload();
  };
  const names = () => selected().map((f) => f.key).join(", ");
  const scope = "feature_flag:write";
  return h(
    "div",
    { role: "region", "aria-label": words.selection, class: "bulk" },
    h("strong", null, () => words.nSelected(chosen().size)),
    button(words.switchOn, { scope, run: () => all(() => askFirst(words.switchOnAsk(names()), words.switchOnText, words.switchOn), () => ({ active: true })) }),
    button(words.switchOff, { scope, run: () => all(() => askFirst(words.switchOffAsk(names()), words.switchOffText, words.switchOff), () => ({ active: false })) }),
    button(words.archive, { scope, run: () => all(() => askFirst(words.archiveAsk(names()), words.archiveText, words.archive), () => ({ archived: true })) }),
    button(words.addTag, { scope, run: () => change.tags(selected(), all) }),
    button(words.delete, { scope, kind: "danger", run: () => all(() => askFirst(words.deleteAsk(names()), words.deleteText, words.delete), () => ({ deleted: true })) }),
    h("span", { class: "space" }),
    button(words.clearSelection, { kind: "quiet", run: () => chosen.set(new Set()) }),
  );
}

