// The differences between two versions of a flag.
import { h, signal, type Child } from "./dom";
import type { Condition, Filter, Filters, Flag } from "../api/flags";
import { canonicalJSON, valueTexts } from "../api/draft";
import { listAll, operators, percent, words } from "../words";
import { commonPairs, diffLines, indentJSON } from "./lines";

type Versioned = Partial<Omit<Flag, "filters">> & { filters?: Filters };

export interface Change {
  kind: "+" | "−" | "~";
  what: string;
  before: string;
  after: string;
  /** Whether the values are texts of several lines, which the table compares line by line. */
  byLine?: boolean;
}

/** Describes a filter, such as "plan is pro" or "in cohort 3". */
export function filterText(f: Filter): string {
  const values = valueTexts(f.value);
  const value = values.join(", ");
  if (f.type === "cohort") return f.operator === "not_in" ? words.filterNotInCohort(value) : words.filterInCohort(value);
  if (f.type === "flag") return words.filterFlag(f.key, value);
  const op = operators[f.operator ?? "exact"] ?? f.operator ?? "";
  if (f.operator === "not_icontains") return words.filterNotContains(f.key, value);
  if (f.operator === "is_set" || f.operator === "is_not_set") return words.filterSet(f.key, op);
  return words.filterValue(f.key, op, f.operator?.endsWith("between") ? listAll(values) : value);
}

export function filtersText(c: Condition): string {
  return c.properties?.length ? listAll(c.properties.map(filterText)) : words.everybody;
}

const share = (c: Condition) => percent(c.rollout_percentage ?? 100);
const conditionText = (c: Condition) => [filtersText(c), share(c), c.variant ?? ""].filter(Boolean).join(", ");

/** Returns pairs of indexes of equal elements, by the longest common subsequence. */
export const matchEqual = (a: readonly unknown[], b: readonly unknown[]): [number, number][] => commonPairs(a.map(canonicalJSON), b.map(canonicalJSON));

function diffConditions(a: Condition[], b: Condition[]): Change[] {
  const same = [...matchEqual(a, b), [a.length, b.length] as [number, number]];
  const [before, after]: [number[], number[]] = [[], []];
  const out: Change[] = [];
  let [i, j] = [0, 0];
  const moved = new Map<string, number>();
  for (const [si, sj] of same) {
    const [left, right] = [range(i, si), range(j, sj)];
    const pairs = Math.min(left.length, right.length);
    for (let k = 0; k < pairs; k++) out.push(...diffCondition(a[left[k]!]!, b[right[k]!]!, right[k]! + 1));
    before.push(...left.slice(pairs));
    after.push(...right.slice(pairs));
    [i, j] = [si + 1, sj + 1];
  }
  for (const k of before) moved.set(canonicalJSON(a[k]), k);
  for (const k of after) {
    const from = moved.get(canonicalJSON(b[k]));
    if (from !== undefined) {
      moved.delete(canonicalJSON(b[k]));
      out.push({ kind: "~", what: words.condition(k + 1), before: words.nth(from + 1), after: words.nth(k + 1) });
    } else out.push({ kind: "+", what: words.condition(k + 1), before: words.dash, after: conditionText(b[k]!) });
  }
  for (const k of moved.values()) out.push({ kind: "−", what: words.condition(k + 1), before: conditionText(a[k]!), after: words.dash });
  return out;
}

const range = (from: number, to: number) => Array.from({ length: Math.max(0, to - from) }, (_, k) => from + k);

function diffCondition(a: Condition, b: Condition, n: number): Change[] {
  const row = (what: string, before: string, after: string): Change[] => (before === after ? [] : [{ kind: "~", what, before, after }]);
  return [...row(words.filtersOf(n), filtersText(a), filtersText(b)), ...row(words.rolloutOf(n), share(a), share(b)), ...row(words.variantOf(n), a.variant || words.byShare, b.variant || words.byShare)];
}

/** Compares two maps, of variants or payloads, by name. */
function diffByName(a: Record<string, string>, b: Record<string, string>, label: (key: string) => string): Change[] {
  const out: Change[] = [];
  for (const k of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const [x, y] = [a[k], b[k]];
    if (x !== y) out.push({ kind: x === undefined ? "+" : y === undefined ? "−" : "~", what: label(k), before: x ?? words.dash, after: y ?? words.dash });
  }
  return out;
}

const runtimes: Record<string, string> = { server: words.server, client: words.client };
const runtimeText = (f: Versioned) => runtimes[f.evaluation_runtime ?? ""] ?? words.everywhere;
const hashText = (hash: string | null | undefined) => words.hashes[hash ?? ""] ?? String(hash);
const bucketText = (f: Versioned) => (f.bucketing_identifier === "device_id" ? words.deviceID : words.distinctID);
const modeText = (f: Versioned) => (f.evaluation_contexts_match_mode === "all" ? words.allContexts : words.anyContext);

const kindOf = (f: Versioned) => (f.is_remote_configuration ? words.remoteConfig : f.filters?.multivariate?.variants.length ? words.variants : words.onOrOff);
const shares = (f: Versioned) => Object.fromEntries((f.filters?.multivariate?.variants ?? []).map((v) => [v.key, percent(v.rollout_percentage)]));
const payloads = (f: Versioned) => Object.fromEntries(Object.entries(f.filters?.payloads ?? {}).map(([k, v]) => [k, typeof v === "string" ? v : JSON.stringify(v)]));

/** Compares payloads. Both are indented if that keeps a difference between them. */
function diffPayloads(a: Record<string, string>, b: Record<string, string>): Change[] {
  return diffByName(a, b, words.payloadOf).map((c) => {
    const [before, after] = [indentJSON(c.before), indentJSON(c.after)];
    return before === after ? { ...c, byLine: true } : { ...c, before, after, byLine: true };
  });
}

/** Returns a row for each changed line of a change that is compared by line, or the change itself if it has one line. */
function rowsOf(c: Change): Change[] {
  if (!c.byLine || !(c.before + c.after).includes("\n") || c.kind !== "~") return [c];
  return diffLines(c.before, c.after).map((l): Change => ({
    kind: l.before === undefined ? "+" : l.after === undefined ? "−" : "~",
    what: words.lineOf(c.what, l.line),
    before: l.before ?? words.dash,
    after: l.after ?? words.dash,
    byLine: true,
  }));
}

/** Returns the rows of the diff of two versions, in the order of the form. */
export function diffFlags(a: Versioned, b: Versioned): Change[] {
  const yes = (x: unknown) => (x ? words.on : words.off);
  const yesNo = (x: unknown) => (x ? words.yes : words.no);
  const both = (name: keyof Flag) => name in a && name in b;
  const plain: [string, boolean, string, string][] = [
    [words.key, both("key"), a.key ?? "", b.key ?? ""],
    [words.description, both("name"), a.name ?? "", b.name ?? ""],
    [words.enabledPlain, both("active"), yes(a.active), yes(b.active)],
    [words.archived, both("archived"), yesNo(a.archived), yesNo(b.archived)],
    [words.deletedState, both("deleted"), yesNo(a.deleted), yesNo(b.deleted)],
    [words.kind, both("filters"), kindOf(a), kindOf(b)],
    [words.about, both("filters"), String(a.filters?.aggregation_group_type_index ?? words.people), String(b.filters?.aggregation_group_type_index ?? words.people)],
  ];
  const later: typeof plain = [
    [words.tags, both("tags"), (a.tags ?? []).join(", "), (b.tags ?? []).join(", ")],
    [words.keepValue, both("ensure_experience_continuity"), yes(a.ensure_experience_continuity), yes(b.ensure_experience_continuity)],
    [words.runsIn, both("evaluation_runtime"), runtimeText(a), runtimeText(b)],
    [words.hash, both("bucketing_hash"), hashText(a.bucketing_hash), hashText(b.bucketing_hash)],
    [words.bucketBy, both("bucketing_identifier"), bucketText(a), bucketText(b)],
    [words.contexts, both("evaluation_contexts"), (a.evaluation_contexts ?? []).join(", "), (b.evaluation_contexts ?? []).join(", ")],
    [words.contextsMode, both("evaluation_contexts_match_mode"), modeText(a), modeText(b)],
  ];
  const rows = (list: typeof plain) =>
    list.filter(([, there, x, y]) => there && x !== y).map(([what, , x, y]): Change => ({ kind: x ? (y ? "~" : "−") : "+", what, before: x || words.dash, after: y || words.dash }));
  const filters = a.filters && b.filters ? [...diffConditions(a.filters.groups ?? [], b.filters.groups ?? []), ...diffByName(shares(a), shares(b), words.variantShare), ...diffPayloads(payloads(a), payloads(b))] : [];
  return [...rows(plain), ...filters, ...rows(later)];
}

const marks: Record<Change["kind"], [string, string]> = { "+": ["added", words.added], "−": ["removed", words.removed], "~": ["changed", ""] };

const changedThing = (c: Change) => [h("span", { class: "mark", "aria-hidden": "true" }, c.kind), h("bdi", null, c.what), marks[c.kind][1] ? h("span", { class: "meta" }, ` ${marks[c.kind][1]}`) : null];

/** The number of changes that a cell shows before the person asks for all. */
const shownInCell = 5;

/** Returns the table Changes for a cell of another table: without a head, and with a button for the rest of a long list. */
export function changesInCell(list: readonly Change[]): Child {
  if (!list.length) return null;
  const all = signal(false);
  const row = (c: Change) =>
    h("tr", { role: "row", class: marks[c.kind][0] }, h("th", { scope: "row", role: "rowheader" }, changedThing(c)), h("td", { role: "cell" }, h("bdi", null, c.before)), h("td", { role: "cell", class: "then" }, h("bdi", null, c.after)));
  return [
    h("table", { class: "changes in-cell", role: "table", "aria-label": words.changes }, h("tbody", { role: "rowgroup" }, () => (all() ? list : list.slice(0, shownInCell)).map(row))),
    list.length > shownInCell ? h("button", { type: "button", class: "link", "aria-expanded": all, onclick: () => all.update((x) => !x) }, () => (all() ? words.fewerChanges : words.allChanges(list.length))) : null,
  ];
}

/** Returns the table Changes. */
export function changesTable(list: readonly Change[]): Child {
  if (!list.length) return h("p", { class: "meta" }, words.noChanges);
  return h(
    "div",
    { class: "scroller" },
    h(
      "table",
      { class: "changes", "aria-label": words.changes },
      h("thead", null, h("tr", null, [words.what, words.before, words.after].map((t) => h("th", { scope: "col" }, t)))),
      h(
        "tbody",
        null,
        list.flatMap(rowsOf).map((c) =>
          h(
            "tr",
            { class: marks[c.kind][0] },
            h("th", { scope: "row" }, changedThing(c)),
            [c.before, c.after].map((text) => h("td", { class: c.byLine ? "lines" : null }, h("bdi", null, text))),
          ),
        ),
      ),
    ),
  );
}
