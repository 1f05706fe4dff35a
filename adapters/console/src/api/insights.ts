// Insights as the API represents them.
import { canonicalJSON } from "./draft";
import type { Query } from "./chartdata";
import type { User } from "./flags";
import { insightWords } from "../words/insights";

export interface Insight {
  id: number;
  short_id: string;
  name: string | null;
  derived_name: string | null;
  description: string | null;
  query: unknown;
  dashboards: number[];
  deleted: boolean;
  last_modified_at: string;
  last_modified_by: User | null;
  user_access_level?: string;
}

export const titleOf = (i: Pick<Insight, "name" | "derived_name"> & { short_id?: string }) => i.name || i.derived_name || i.short_id || insightWords.insight;

/** Returns the query as it is stored, inside the node that clients wrap it in. */
export function storedQuery(q: Query, before: unknown): unknown {
  const outer = before as { kind?: string; source?: unknown } | null;
  return outer?.source ? { ...outer, source: q } : { kind: "InsightVizNode", source: q };
}

export const sameQuery = (a: unknown, b: unknown) => canonicalJSON(a) === canonicalJSON(b);
