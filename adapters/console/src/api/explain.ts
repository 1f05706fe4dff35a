// Explanations of why a person has a value of a flag (console.md N5).
import { send } from "./client";
import { projectPath } from "../session";

export interface Filter {
  kind: string;
  key?: string;
  operator?: string;
  operand?: unknown;
  seen?: unknown;
  type?: string;
  source?: string;
  result: string;
  negated?: boolean;
  note?: string;
  cohort?: { id: number; result: string; tree?: Filter };
  items?: Filter[];
}

export interface Bucket {
  hashed: boolean;
  input?: string;
  hash?: string;
  bucket: number;
  share: number;
  result: string;
}

export interface Condition {
  index: number;
  reached: boolean;
  filters?: Filter[];
  rollout?: Bucket;
  variant?: Bucket;
  outcome: string;
  note?: string;
}

export interface FlagTrace {
  key: string;
  decision: { enabled: boolean; variant?: string };
  decided: string;
  enrollment?: Filter;
  holdout?: Bucket;
  conditions?: Condition[];
}

export type FlagValue = boolean | string | null;

export interface Explanation {
  flag: { id: number; key: string; version: number; active: boolean };
  person: { uuid: string; name: string; distinct_id: string } | null;
  value: FlagValue;
  decided: string;
  trace: { flags: FlagTrace[] | null };
  text: string;
  assigned: { value: FlagValue; at: string; calls: number; version: number | null; sdk: string | null } | null;
  differs: string | null;
}

export interface Question {
  distinct_id: string;
  groups?: Record<string, string>;
  person_properties?: Record<string, unknown>;
}

export const explain = (flag: string, q: Question, cancel: AbortSignal): Promise<Explanation> => send("POST", projectPath(`feature_flags/${encodeURIComponent(flag)}/explain/`), q, cancel);
