// The tab People of a flag: the value of each person by their stored properties (console.md N6).
import { effect, h, onEnd, signal, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { loadingBars, button, empty, field, problem, select } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { searchBox } from "../../ui/searchbox";
import { send } from "../../api/client";
import type { Flag } from "../../api/flags";
import { href, param, setParams } from "../../router";
import { hasPage, type Params } from "../../routes";
import { projectPath, project } from "../../session";
import { number, words } from "../../words";
import { flagTabWords } from "../../words/flagtabs";
import { outcomes } from "../../words/why";
import { flagPage } from "./frame";
import { pins } from "./pins";

interface Row {
  person: { uuid?: string; name: string; distinct_id?: string };
  after: string;
  reason: string;
}

interface Who {
  after: Record<string, number>;
  of: number;
  exact: boolean;
  sample: number | null;
  results: Row[];
  next: string | null;
}

export default function peoplePage(params: Params): Child {
  return flagPage(params, "people", (flag) => people(flag));
}

function people(flag: Signal<Flag>): Child {
  const got = signal<Who | undefined>(undefined);
  const rows = signal<Row[]>([]);
  const fault = signal<unknown>(undefined);
  let cancel: AbortController | undefined;
  onEnd(() => cancel?.abort());
  const load = async (value: string, search: string, cursor: string | null) => {
    cancel?.abort();
    const mine = (cancel = new AbortController());
    try {
      const a = await send<Who>("POST", projectPath(`feature_flags/${flag.peek().id}/who/`), { ...(value ? { value } : {}), search, limit: 50, ...(cursor ? { cursor } : {}) }, mine.signal);
      rows.set(cursor ? [...rows.peek(), ...a.results] : a.results);
      got.set(a);
      fault.set(undefined);
      const n = value ? (a.after[value] ?? 0) : a.of;
      if (!cursor && !search) announce(words.nPeople(n));
    } catch (e) {
      if (!mine.signal.aborted) fault.set(e);
    }
  };
  effect(() => void load(param("value"), param("search"), null));
  const known = () => [...new Set(["true", "false", ...(flag().filters.multivariate?.variants ?? []).map((v) => v.key)])];
  const options = (): (readonly [string, string])[] => [["", flagTabWords.anyValue], ...known().filter((v) => v !== "true" || !flag().filters.multivariate).map((v) => [v, v] as const)];
  return [
    h("div", { class: "between gap" }, h("h2", null, flagTabWords.people), h("div", { class: "filters low", role: "search", "aria-label": flagTabWords.people }, field(select(() => param("value"), options, (v) => setParams({ value: v })), { label: flagTabWords.value }), searchBox(flagTabWords.search))),
    () => (fault() ? problem(words.failed, fault(), () => void load(param("value"), param("search"), null)) : null),
    when(() => !got() && !fault(), () => loadingBars(8)),
    when(() => got() && got()!.of === 0, () => empty(flagTabWords.nobody, flagTabWords.nobodyText)),
    when(() => got() && got()!.of > 0 && rows().length === 0, () => empty(flagTabWords.nobodyMatches, words.noFlagsMatchText, button(words.clearFilters, { run: () => setParams({ search: "", value: "" }) }))),
    when(() => rows().length > 0, () => table(flag, rows)),
    () => (got()?.sample ? h("p", { class: "meta" }, flagTabWords.sampled(number(got()!.sample!), number(got()!.of))) : null),
    when(() => got()?.next, () => h("p", { class: "gap-above" }, button(words.loadMore, { run: () => load(param("value"), param("search"), got.peek()!.next) }))),
    h("p", { class: "meta gap-above" }, words.storedOnly),
    pins(flag, () => void load(param("value"), param("search"), null)),
  ];
}

function table(flag: Signal<Flag>, rows: () => Row[]): HTMLElement {
  const link = (r: Row) => (r.person.uuid ? h("a", { href: href(`p/${project()}/people/${r.person.uuid}`) }, r.person.name) : r.person.name);
  const why = (r: Row) =>
    r.person.distinct_id && hasPage(`p/${project()}/why`) ? h("a", { href: href(`p/${project()}/why`, { person: r.person.distinct_id, flag: flag().key }), "aria-label": flagTabWords.whyPerson(r.person.name) }, words.why) : null;
  return recordTable<Row>(
    flagTabWords.peopleByValue,
    [
      { label: words.person, cell: (r) => h("bdi", null, () => link(r())) },
      { label: flagTabWords.value, cell: (r) => h("bdi", null, () => r().after) },
      { label: words.reason, cell: (r) => () => outcomes[r().reason] ?? r().reason, class: "meta" },
      { label: "", cell: (r) => () => why(r()), class: "tight" },
    ],
    rows,
    (r) => r.person.uuid ?? r.person.name,
  );
}
