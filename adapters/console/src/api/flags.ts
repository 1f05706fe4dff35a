// Flags as the API represents them, and their summaries in lists.
import { percent, words } from "../words";

export interface User {
  id: number;
  email: string;
  first_name: string;
}

export interface Filter {
  key: string;
  type?: string;
  operator?: string;
  value?: unknown;
  group_type_index?: number;
  [other: string]: unknown;
}

export interface Condition {
  properties?: Filter[];
  rollout_percentage?: number | null;
  variant?: string | null;
  [other: string]: unknown;
}

export interface Variant {
  key: string;
  name?: string | null;
  rollout_percentage: number;
}

export interface Filters {
  groups: Condition[];
  multivariate?: { variants: Variant[] } | null;
  payloads?: Record<string, unknown>;
  aggregation_group_type_index?: number | null;
  [other: string]: unknown;
}

export interface Flag {
  id: number;
  /** The id of its usage dashboard, or null. */
  usage_dashboard: number | null;
  key: string;
  name: string;
  active: boolean;
  archived: boolean;
  deleted: boolean;
  status: string;
  status_reason?: string;
  tags: string[];
  version: number;
  updated_at: string;
  created_at: string;
  created_by: User | null;
  last_modified_by: User | null;
  filters: Filters;
  ensure_experience_continuity: boolean | null;
  evaluation_runtime: string;
  /** sha1 or murmur3; null for that of the project. */
  bucketing_hash: string | null;
  /** distinct_id or device_id; null for distinct_id. */
  bucketing_identifier: string | null;
  evaluation_contexts: string[];
  /** any or all. */
  evaluation_contexts_match_mode: string;
  /** The ids of the experiments that use the flag. */
  experiment_set: number[];
  surveys: { id: string; name: string }[];
  features: { id: string; name: string }[];
  is_remote_configuration: boolean;
  has_encrypted_payloads: boolean;
  last_called_at: string | null;
  can_edit: boolean;
  /** The name of the definitions file that contains the flag. */
  definitions_file?: string;
}

/** A flag of the list. view=list returns counts instead of filters. */
export interface Row extends Omit<Flag, "filters"> {
  filters?: Filters;
  rollout_percentage?: number | null;
  conditions?: number;
  /** Reports whether the flag has one condition, without filters. */
  everybody?: boolean;
  variants?: number;
  kind?: string;
}

export type State = "on" | "off" | "stale" | "archived";

export function stateOf(f: Pick<Flag, "active" | "archived" | "status">): State {
  if (f.archived) return "archived";
  if (f.status.toUpperCase() === "STALE") return "stale";
  return f.active ? "on" : "off";
}

export const stateWords: Record<State, string> = { on: words.on, off: words.off, stale: words.stale, archived: words.archived };

/** Summarizes the rollout, such as "50 % · 1 condition" or "3 variants · 2 conditions". */
export function rolloutText(f: Row): string {
  const groups = f.filters?.groups ?? [];
  const n = f.conditions ?? groups.length;
  const variants = f.variants ?? f.filters?.multivariate?.variants.length ?? 0;
  const open = f.everybody ?? (groups.length === 1 && !groups[0]!.properties?.length);
  const conditions = open ? words.everybody : words.nConditions(n);
  if (variants) return `${words.nVariants(variants)} · ${conditions}`;
  const shares = groups.map((g) => g.rollout_percentage ?? 100);
  const same = shares.length > 0 && shares.every((s) => s === shares[0]);
  const share = f.rollout_percentage ?? (same ? shares[0] : shares.length ? Math.max(...shares) : null);
  return [share === null || share === undefined ? "" : percent(share), conditions].filter(Boolean).join(" · ");
}
