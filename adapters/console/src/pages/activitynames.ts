// The names of what the lines of the log are about, and of the users and roles in their changes.
import { href } from "../router";
import { project } from "../session";
import { allMembers, allRoles } from "../api/wholelist";
import type { FieldChange } from "../ui/diffvalues";
import { accessWords } from "../words/access";
import { activityWords } from "../words/activity";
import { namesInValues } from "./activityobjects";

/** The part of a line of the log that names its object. */
interface Named {
  activity: string;
  scope: string;
  item_id: string | null;
  detail: { name: string | null } | null;
}

/** The path of the page of an object by its kind. */
const pagesOfObjects: Record<string, string> = {
  FeatureFlag: "flags", Cohort: "cohorts", Experiment: "experiments", ExperimentSavedMetric: "experiments/metrics", Insight: "insights", Dashboard: "dashboards",
  Person: "people", Survey: "surveys", EarlyAccessFeature: "early-access", BatchExport: "exports", ErrorTrackingIssue: "errors",
};

/** The path of the page with all objects of a kind. */
const pagesOfKinds: Record<string, string> = { ExperimentHoldout: "experiments/holdouts", ErrorTrackingAssignmentRule: "errors/rules", Project: "settings" };

/** Returns the address of the page of an object, or null if there is none. */
export function addressOf(l: Named): string | null {
  const at = pagesOfKinds[l.scope] ?? (l.item_id && pagesOfObjects[l.scope] ? `${pagesOfObjects[l.scope]}/${l.item_id}` : "");
  return at && l.activity !== "deleted" ? href(`p/${project()}/${at}`) : null;
}

/** Returns the name of an object, or what stands for it if it has none. */
export function nameOf(l: Named): string {
  const name = l.detail?.name ?? "";
  const kind = accessWords.kind[l.item_id ?? ""];
  if (l.scope === "AccessControl" && kind && name.startsWith(l.item_id!)) return kind + name.slice(l.item_id!.length); // a rule about all objects of a kind
  return name || (activityWords.nameless[l.scope] ?? l.item_id ?? "");
}

/** Loads the members and roles of the organization. The returned function replaces the ids of members, roles and objects in a change by their names; without the right to read them, the ids stay. */
export function namesInChanges(members = allMembers(), roles = allRoles()): (c: FieldChange) => FieldChange {
  const user = (id: unknown) => members.rows().find((m) => m.user.id === Number(id))?.user.email;
  const assignee = (v: unknown) => {
    const [kind, id] = String(v).split(":");
    const role = roles.rows().find((r) => r.id === id)?.name;
    return (kind === "user" ? user(id) : role && accessWords.role(role)) ?? v;
  };
  const fields: Record<string, (v: unknown) => unknown> = {
    assignee: (v) => (v ? assignee(v) : v),
    subscribed_users: (v) => (Array.isArray(v) ? v.map((id) => user(id) ?? id) : v),
    access_level: (v) => accessWords.levels[String(v)] ?? v,
  };
  const objects = namesInValues();
  return (c) => {
    const field = c.field ?? "";
    const named = fields[field] ?? ((v: unknown) => objects(field, v));
    return { ...c, before: named(c.before), after: named(c.after) };
  };
}
