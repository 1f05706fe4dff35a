// The differences between two values of any kind, such as the fields of a record in the log of changes.
import { canonicalJSON } from "../api/draft";
import type { Filter, Flag } from "../api/flags";
import { number, words } from "../words";
import { activityWords } from "../words/activity";
import { diffFlags, filterText, matchEqual, type Change } from "./diff";
import { fullTime } from "./time";

/** The change of one field, as the log returns it. before is null for a new field, after for one that was removed. */
export interface FieldChange {
  field: string | null;
  before: unknown;
  after: unknown;
}

type Members = Record<string, unknown>;

const isObject = (v: unknown): v is Members => typeof v === "object" && v !== null && !Array.isArray(v);
const isEmpty = (v: unknown): boolean => v === null || v === undefined || v === "" || (Array.isArray(v) && v.length === 0) || (isObject(v) && Object.keys(v).length === 0);
const isFilter = (v: unknown): v is Filter => isObject(v) && typeof v.key === "string" && ("operator" in v || "value" in v) && !Object.values(v).some(isObject);
const isTime = (v: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(v);

const fieldName = (name: string): string => activityWords.fields[name] ?? name.replaceAll("_", " ");

/** Describes a value in one line. */
function describe(v: unknown): string {
  if (isEmpty(v)) return words.dash;
  if (typeof v === "boolean") return v ? activityWords.yes : activityWords.no;
  if (typeof v === "number") return number(v);
  if (typeof v === "string") return isTime(v) ? fullTime(v) : v;
  if (isFilter(v)) return filterText(v);
  if (Array.isArray(v)) return v.map(describe).join(", ");
  const members = Object.entries(v as Members).filter(([, x]) => !isEmpty(x));
  return members.map(([k, x]) => activityWords.member(fieldName(k), describe(x))).join(", ");
}

const row = (what: string, a: unknown, b: unknown): Change => ({ kind: isEmpty(a) ? "+" : isEmpty(b) ? "−" : "~", what, before: describe(a), after: describe(b) });

/** Lists with more elements are compared by position, since comparing all pairs would take too long. */
const maxMatched = 200;

/** Compares two lists of objects. Equal elements are matched first, the others in their order. */
function diffLists(what: string, a: readonly unknown[], b: readonly unknown[]): Change[] {
  const out: Change[] = [];
  let [i, j] = [0, 0];
  const equal = Math.max(a.length, b.length) <= maxMatched ? matchEqual(a, b) : [];
  for (const [si, sj] of [...equal, [a.length, b.length] as const]) {
    for (; i < si && j < sj; i++, j++) out.push(...diffValues(activityWords.nth(what, j + 1), a[i], b[j]));
    for (; i < si; i++) out.push(row(activityWords.nth(what, i + 1), a[i], undefined));
    for (; j < sj; j++) out.push(row(activityWords.nth(what, j + 1), undefined, b[j]));
    [i, j] = [si + 1, sj + 1];
  }
  return out;
}

/** Compares two values: objects member by member and lists element by element. */
export function diffValues(what: string, a: unknown, b: unknown): Change[] {
  if (canonicalJSON(a) === canonicalJSON(b) || (isEmpty(a) && isEmpty(b))) return [];
  const isOneLine = isFilter(a) && isFilter(b) && filterText(a) !== filterText(b);
  if (isObject(a) && isObject(b) && !isOneLine) {
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((k) => diffValues(activityWords.inside(what, fieldName(k)), a[k], b[k]));
  }
  const lists = [a, b].map((v) => (Array.isArray(v) ? (v as unknown[]) : isEmpty(v) ? [] : undefined));
  if (lists[0] && lists[1] && [...lists[0], ...lists[1]].some(isObject)) return diffLists(what, lists[0], lists[1]);
  return [row(what, a, b)];
}

interface LoggedPin {
  cohort?: number;
  group_type?: string;
  group_key?: string;
  value: unknown;
  expires_at?: string;
}

function pinText(p: LoggedPin | undefined): string {
  if (!p) return words.dash;
  const value = String(p.value);
  const text = p.group_key === undefined ? value : activityWords.pinnedGroup(value, p.group_type ?? "", p.group_key);
  return p.expires_at ? activityWords.pinnedUntil(text, fullTime(p.expires_at)) : text;
}

function diffPins(a: readonly LoggedPin[], b: readonly LoggedPin[]): Change[] {
  const id = (p: LoggedPin) => canonicalJSON([p.cohort, p.group_type, p.group_key]);
  const [before, after] = [new Map(a.map((p) => [id(p), p])), new Map(b.map((p) => [id(p), p]))];
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((k): Change => ({ kind: !before.has(k) ? "+" : !after.has(k) ? "−" : "~", what: activityWords.pinnedValue, before: pinText(before.get(k)), after: pinText(after.get(k)) }))
    .filter((c) => c.before !== c.after);
}

/** The fields of a flag that diffFlags compares. */
const flagFields = new Set(["key", "name", "active", "archived", "filters", "tags", "ensure_experience_continuity", "evaluation_runtime"]);

/** Returns the changes of a record of a kind, such as FeatureFlag, in the words of its form. */
export function diffRecord(kind: string, changes: readonly FieldChange[]): Change[] {
  const ofForm = kind === "FeatureFlag" ? changes.filter((c) => flagFields.has(c.field ?? "")) : [];
  const side = (of: "before" | "after") => Object.fromEntries(ofForm.map((c) => [c.field, c[of] ?? (c.field === "filters" ? { groups: [] } : undefined)])) as Partial<Flag>;
  const rest = changes.filter((c) => !ofForm.includes(c));
  return [
    ...diffFlags(side("before"), side("after")),
    ...rest.flatMap((c) => (c.field === "pins" ? diffPins((c.before ?? []) as LoggedPin[], (c.after ?? []) as LoggedPin[]) : diffValues(fieldName(c.field ?? ""), c.before, c.after))),
  ];
}
