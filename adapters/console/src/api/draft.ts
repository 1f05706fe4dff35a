// The draft of a flag that its form edits, and the conversion to and from the API.
import type { Condition, Filter, Filters, Flag, Variant } from "./flags";

export type Kind = "boolean" | "variants" | "config";

export interface FilterDraft {
  id: number;
  filter: Filter;
}

export interface ConditionDraft {
  id: number;
  open: boolean;
  filters: FilterDraft[];
  rollout: string;
  variant: string;
  rest: Condition;
}

export interface VariantDraft {
  id: number;
  was: Variant | null;
  key: string;
  share: string;
  payload: string;
}

export interface Draft {
  key: string;
  name: string;
  active: boolean;
  kind: Kind;
  /** Whether the flag is remote configuration with variants whose payloads are the values. Imports create such flags. */
  valued: boolean;
  about: string;
  conditions: ConditionDraft[];
  variants: VariantDraft[];
  payload: string;
  tags: string;
  keep: boolean;
  runtime: string;
  /** The hash; "" for that of the project. */
  hash: string;
  /** What is hashed: "" for the distinct id, or device_id. */
  bucket: string;
  /** The evaluation contexts, separated by commas. */
  contexts: string;
  allContexts: boolean;
}

let ids = Date.now(); // restored drafts have lower ids
const nextID = () => ++ids;

export const newFilter = (): FilterDraft => ({ id: nextID(), filter: { key: "", type: "person", operator: "exact", value: [] } });
export const newCondition = (): ConditionDraft => ({ id: nextID(), open: true, filters: [], rollout: "100", variant: "", rest: { properties: [], rollout_percentage: 100 } });
export const newVariant = (key: string, share: string): VariantDraft => ({ id: nextID(), was: null, key, share, payload: "" });
export const copyCondition = (c: ConditionDraft): ConditionDraft => ({ ...c, id: nextID(), open: true, filters: c.filters.map((f) => ({ ...f, id: nextID() })) });

export const hasVariants = (d: Draft): boolean => d.kind === "variants" || (d.kind === "config" && d.valued);

/** Returns a payload as text, indented if it is JSON. */
function payloadText(p: unknown): string {
  if (p === undefined || p === null) return "";
  return typeof p === "string" ? p : JSON.stringify(p);
}

export function draftOf(f: Pick<Flag, "key" | "name" | "active" | "filters" | "tags"> & Partial<Flag>): Draft {
  const variants = f.filters.multivariate?.variants ?? [];
  const payloads = f.filters.payloads ?? {};
  return {
    key: f.key,
    name: f.name ?? "",
    active: f.active,
    kind: f.is_remote_configuration ? "config" : variants.length ? "variants" : "boolean",
    valued: Boolean(f.is_remote_configuration) && variants.length > 0,
    about: f.filters.aggregation_group_type_index === null || f.filters.aggregation_group_type_index === undefined ? "" : String(f.filters.aggregation_group_type_index),
    conditions: (f.filters.groups ?? []).map((g, i) => ({
      id: nextID(),
      open: i < 3 || (f.filters.groups ?? []).length <= 5,
      filters: (g.properties ?? []).map((filter) => ({ id: nextID(), filter })),
      rollout: String(g.rollout_percentage ?? 100),
      variant: g.variant ?? "",
      rest: g,
    })),
    variants: variants.map((v) => ({ id: nextID(), was: v, key: v.key, share: String(v.rollout_percentage), payload: payloadText(payloads[v.key]) })),
    payload: payloadText(payloads.true),
    tags: (f.tags ?? []).join(", "),
    keep: f.ensure_experience_continuity ?? false,
    runtime: f.evaluation_runtime ?? "all",
    hash: f.bucketing_hash ?? "",
    bucket: f.bucketing_identifier === "device_id" ? "device_id" : "",
    contexts: (f.evaluation_contexts ?? []).join(", "),
    allContexts: f.evaluation_contexts_match_mode === "all",
  };
}

export const emptyDraft = (): Draft => draftOf({ key: "", name: "", active: true, filters: { groups: [{ properties: [], rollout_percentage: 100 }] }, tags: [] });

function condition(c: ConditionDraft, variants: boolean): Condition {
  const out: Condition = { ...c.rest };
  if (c.filters.length || c.rest.properties) out.properties = c.filters.map((f) => f.filter);
  const given = c.rest.rollout_percentage;
  const share = c.rollout.trim() === "" ? 100 : Number(c.rollout);
  if (share !== 100 || (given !== undefined && given !== null)) out.rollout_percentage = share;
  const variant = variants ? c.variant : "";
  if (variant) out.variant = variant;
  else if (c.rest.variant) out.variant = null;
  return out;
}

/** Converts a draft to a body for the API. Members of base that the form does not edit are kept. */
export function bodyOf(d: Draft, base?: Filters): Partial<Flag> & { filters: Filters } {
  const filters: Filters = { ...(base ?? {}), groups: d.conditions.map((c) => condition(c, hasVariants(d))) };
  const payloads: Record<string, unknown> = {};
  if (hasVariants(d)) {
    filters.multivariate = { ...base?.multivariate, variants: d.variants.map((v) => ({ ...v.was, key: v.key.trim(), rollout_percentage: Number(v.share) || 0 })) };
    for (const v of d.variants) if (v.payload.trim()) payloads[v.key.trim()] = v.payload;
  } else {
    if (base?.multivariate) filters.multivariate = null;
    if (d.payload.trim()) payloads.true = d.payload;
  }
  if (Object.keys(payloads).length || base?.payloads) filters.payloads = payloads;
  if (d.about !== "") filters.aggregation_group_type_index = Number(d.about);
  else if (base && base.aggregation_group_type_index !== undefined) filters.aggregation_group_type_index = null;
  return {
    key: d.key.trim(),
    name: d.name,
    active: d.active,
    filters,
    tags: listOf(d.tags),
    ensure_experience_continuity: d.keep,
    evaluation_runtime: d.runtime,
    is_remote_configuration: d.kind === "config",
    bucketing_hash: d.hash || null,
    bucketing_identifier: d.bucket || null,
    evaluation_contexts: listOf(d.contexts),
    evaluation_contexts_match_mode: d.allContexts ? "all" : "any",
  };
}

const listOf = (text: string) => [...new Set(text.split(",").map((t) => t.trim()).filter(Boolean))];

/** Reports whether the settings of the part More have their defaults. */
export const isPlain = (d: Draft): boolean => !d.keep && d.runtime === "all" && !d.hash && !d.bucket && !d.contexts.trim();

/** The values of members that an older response may lack. */
const defaults: Record<string, unknown> = { ensure_experience_continuity: false, bucketing_hash: null, bucketing_identifier: null, evaluation_contexts: [], evaluation_contexts_match_mode: "any" };

/** Returns the members of a body that differ from the flag. */
export function changedMembers(f: Flag, body: Partial<Flag>): Partial<Flag> {
  const out: Record<string, unknown> = {};
  for (const [k, v] of Object.entries(body)) {
    const was = (f as unknown as Record<string, unknown>)[k] ?? defaults[k];
    if (canonicalJSON(was) !== canonicalJSON(v) && !(k === "bucketing_identifier" && was === "distinct_id" && v === null)) out[k] = v;
  }
  return out as Partial<Flag>;
}

/** Returns a value as JSON with sorted members, to compare values. */
export function canonicalJSON(v: unknown): string {
  return JSON.stringify(v, (_, x: unknown) => (x && typeof x === "object" && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort(([a], [b]) => (a < b ? -1 : 1))) : x)) ?? "";
}

/** Returns the values of a filter as strings. */
export function valueTexts(v: unknown): string[] {
  if (v === undefined || v === null) return [];
  return (Array.isArray(v) ? v : [v]).map((x) => (typeof x === "string" ? x : JSON.stringify(x)));
}
