// Cohorts as the API represents them, and the drafts of their form.
import { canonicalJSON, newFilter, type FilterDraft } from "./draft";
import type { Filter } from "./flags";
import { filterText } from "../ui/diff";

export interface Cohort {
  id: number;
  name: string | null;
  description: string;
  filters: { properties: Tree } | null;
  deleted: boolean;
  errors_calculating?: number;
  is_static: boolean;
  is_calculating: boolean;
  count: number | null;
  last_calculation: string | null;
}

interface Group {
  type: "AND" | "OR";
  values: Tree[];
}

export type Tree = Group | (Filter & { values?: undefined });

export interface GroupDraft {
  id: number;
  any: boolean;
  filters: FilterDraft[];
}

export interface RuleDraft {
  any: boolean;
  groups: GroupDraft[];
}

let ids = Date.now(); // restored drafts have lower ids
export const newGroup = (): GroupDraft => ({ id: ++ids, any: false, filters: [newFilter()] });
export const emptyRule = (): RuleDraft => ({ any: true, groups: [newGroup()] });

const isGroup = (t: Tree): t is Group => Array.isArray(t.values);

/** Reports whether the form can show a filter of the rule. */
const isSupportedLeaf = (t: Tree) => !isGroup(t) && ["person", "cohort"].includes(t.type ?? "") && !t.negation;

/** Converts a rule to a draft. It returns undefined if the form does not support the rule. */
export function ruleOf(tree: Tree | undefined): RuleDraft | undefined {
  if (!tree || !isGroup(tree)) return tree ? undefined : emptyRule();
  const leaves = tree.values.length > 0 && tree.values.every(isSupportedLeaf);
  const groups = leaves ? [tree] : tree.values;
  if (!groups.every((g): g is Group => isGroup(g) && g.values.every(isSupportedLeaf))) return undefined;
  const drafts = groups.map((g) => ({ id: ++ids, any: g.type === "OR", filters: g.values.map((f) => ({ id: newFilter().id, filter: f as Filter })) }));
  return { any: leaves || tree.type === "OR", groups: drafts.length ? drafts : [newGroup()] };
}

export function treeOf(r: RuleDraft): Tree {
  return { type: r.any ? "OR" : "AND", values: r.groups.map((g) => ({ type: g.any ? "OR" : "AND", values: g.filters.map((f) => f.filter) })) };
}

/** Describes a rule in one line: groups are separated by semicolons, and a group for which one filter is enough has slashes. */
export const ruleText = (r: RuleDraft): string => r.groups.map((g) => g.filters.map((f) => filterText(f.filter)).join(g.any ? " / " : ", ")).join(r.any ? "; " : " + ");

export const sameRule = (a: RuleDraft, b: RuleDraft) => canonicalJSON(treeOf(a)) === canonicalJSON(treeOf(b));
