// Errors and their assignment rules as the API represents them, and the possible assignees.
import { valueTexts } from "./draft";
import { allMembers, allRoles, cutOption } from "./wholelist";
import { projectPath } from "../session";
import { listAll, listAny, operators } from "../words";
import { errorWords } from "../words/errors";

export interface Issue {
  id: string;
  fingerprint: string;
  name: string;
  description: string;
  status: string;
  assignee: string | null;
  first_seen: string;
  last_seen: string;
  count: number;
}

export interface RuleFilter {
  type: string;
  key: string;
  operator?: string;
  value?: unknown;
  values?: undefined;
}

export interface RuleGroup {
  type: "AND" | "OR";
  values: (RuleGroup | RuleFilter)[];
}

export interface Rule {
  id: string;
  filters: RuleGroup;
  assignee: string | null;
  disabled_data: { message: string } | null;
}

export const rulesPath = () => projectPath("error_tracking/assignment_rules/");

export const issueName = (i: Pick<Issue, "name">) => i.name || errorWords.nameless;

const isGroup = (x: RuleGroup | RuleFilter): x is RuleGroup => Array.isArray(x.values);

/** Returns the filters of a rule, or undefined if it has nested groups. */
export const flatFilters = (g: RuleGroup): RuleFilter[] | undefined => (g.values.some(isGroup) ? undefined : (g.values as RuleFilter[]));

/** Describes a rule in one line. */
export function ruleText(g: RuleGroup): string {
  const one = (x: RuleGroup | RuleFilter) =>
    isGroup(x) ? `(${ruleText(x)})` : [errorWords.inRule[x.type] ?? x.type, x.key, operators[x.operator ?? "exact"] ?? x.operator, (x.operator ?? "").endsWith("_set") ? "" : valueTexts(x.value).join(", ")].filter(Boolean).join(" ");
  return (g.type === "OR" ? listAny : listAll)(g.values.map(one)) || errorWords.everyError;
}

export interface Owners {
  /** Returns the options of the select, including the current assignee. */
  options(now: string | null): (readonly [string, string])[];
  name(id: string | null): string;
}

/** Loads the members and roles of the organization. Without the right to read them, their ids are shown. */
export function owners(): Owners {
  const [members, roles] = [allMembers(), allRoles()];
  const all = () => [
    ...members.rows().map((m) => [`user:${m.user.id}`, m.user.email] as const),
    ...roles.rows().map((r) => [`role:${r.id}`, errorWords.role(r.name)] as const),
  ];
  const name = (id: string | null) => (id ? (all().find(([v]) => v === id)?.[1] ?? id) : errorWords.nobody);
  const options = (now: string | null) => {
    const list = all();
    return [["", errorWords.nobody] as const, ...list, ...(now && !list.some(([v]) => v === now) ? [[now, now] as const] : []), ...cutOption(members), ...cutOption(roles)];
  };
  return { options, name };
}
