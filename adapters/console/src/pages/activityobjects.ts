// The names of the objects that the changes in the log refer to by their ids.
import { onEnd, signal, untracked } from "../ui/dom";
import { get } from "../api/client";
import { titleOf, type Insight } from "../api/insights";
import { lateList } from "../api/wholelist";
import { hasScope, projectPath } from "../session";
import { activityWords } from "../words/activity";

interface Named {
  id: number;
  name?: string | null;
  key?: string;
}

type Kind = "cohort" | "dashboard" | "experiment" | "flag" | "holdout" | "insight" | "metric" | "tile";

/** The kind of object that a field refers to, by its name in the API. Names in queries are a user's, so it is no plain object. */
const references = new Map(Object.entries<Kind>({
  exposure_cohort: "cohort", exposure_frozen_cohort: "cohort",
  usage_dashboard: "dashboard", experiment_id: "experiment", experiment_set: "experiment",
  flag: "flag", linked_flag_id: "flag", targeting_flag_id: "flag", internal_targeting_flag_id: "flag",
  holdout_id: "holdout", insight: "insight", linked_insight_id: "insight", saved_metric: "metric", tiles: "tile",
}));

const maxFlags = 200; // flags that one request names

/** Returns a function for the key of a flag, or undefined if it is not known. Unknown flags are loaded, those of one turn with one request. */
function flagKeys(): (id: string) => string | undefined {
  const keys = signal<ReadonlyMap<string, string>>(new Map());
  const asked = new Set<string>();
  const next: string[] = [];
  const cancel = new AbortController();
  onEnd(() => cancel.abort());
  const load = async () => {
    while (next.length && hasScope("feature_flag:read")) {
      const ids = next.splice(0, maxFlags).join(",");
      const got = await get<{ results: Named[] }>(projectPath("feature_flags/"), { view: "list", ids, limit: maxFlags }, cancel.signal);
      keys.update((was) => new Map([...was, ...got.results.map((f) => [String(f.id), f.key ?? ""] as const)]));
    }
  };
  return (id) => {
    const key = keys().get(id);
    if (key === undefined && !asked.has(id)) {
      asked.add(id);
      if (next.push(id) === 1) queueMicrotask(() => void load().catch(() => undefined)); // the ids stay
    }
    return key;
  };
}

/** Returns a function for the name of an object, which loads the objects of a kind when the first of them is asked for. */
function objectNames(): (kind: Kind, id: string) => string | undefined {
  const lists = {
    cohort: lateList<Named>(projectPath("cohorts/"), "cohort:read"),
    dashboard: lateList<Named>(projectPath("dashboards/"), "dashboard:read"),
    experiment: lateList<Named>(projectPath("experiments/"), "experiment:read"),
    holdout: lateList<Named>(projectPath("experiment_holdouts/"), "experiment:read"),
    metric: lateList<Named>(projectPath("experiment_saved_metrics/"), "experiment_saved_metric:read"),
  };
  const insights = lateList<Insight & { dashboard_tiles: { id: number }[] }>(projectPath("insights/"), "insight:read", { basic: "true" });
  const flag = flagKeys();
  const insight = (is: (i: ReturnType<typeof insights.rows>[number]) => boolean) => {
    void insights.start();
    const found = insights.rows().find(is);
    return found && titleOf(found);
  };
  return (kind, id) => {
    if (kind === "flag") return flag(id);
    if (kind === "insight") return insight((i) => String(i.id) === id);
    if (kind === "tile") return insight((i) => i.dashboard_tiles.some((t) => String(t.id) === id));
    void lists[kind].start();
    return lists[kind].rows().find((x) => String(x.id) === id)?.name ?? undefined;
  };
}

/** Returns a function that replaces the ids in the value of a field by names. An id without a known name follows a #. */
export function namesInValues(): (field: string, value: unknown) => unknown {
  const nameOf = untracked(objectNames);
  const name = (kind: Kind, v: unknown): unknown => {
    if (Array.isArray(v)) return v.map((x: unknown) => name(kind, x));
    const isID = typeof v === "number" || (typeof v === "string" && /^\d+$/.test(v));
    return isID ? (nameOf(kind, String(v)) ?? `#${v}`) : v;
  };
  const replace = (field: string, v: unknown): unknown => {
    const kind = references.get(field);
    if (kind && (Array.isArray(v) ? v : [v]).every((x) => typeof x !== "object")) return name(kind, v);
    if (field === "restriction_level" && typeof v === "number") return activityWords.restrictions[v] ?? v;
    if (Array.isArray(v)) return v.map((x: unknown) => replace("", x));
    if (typeof v !== "object" || v === null) return v;
    const members = v as Record<string, unknown>;
    const ofCohorts = cohortMember(members);
    return Object.fromEntries(Object.entries(members).map(([k, x]) => [k, k === ofCohorts ? name("cohort", x) : replace(k, x)]));
  };
  return replace;
}

/** Returns the member of a filter or a breakdown that has ids of cohorts. */
function cohortMember(v: Record<string, unknown>): string | null {
  if (v.breakdown_type === "cohort") return "breakdown";
  if (v.type !== "cohort") return null;
  return "value" in v ? "value" : "property";
}
