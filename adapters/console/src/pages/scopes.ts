// Scopes of a key, chosen one by one.
import { h, type Signal } from "../ui/dom";
import { field, select } from "../ui/parts";
import { accountWords } from "../words/account";

/** What a scope may name, as keys of the API have it. */
export const objects = [
  "access_control", "action", "activity_log", "annotation", "batch_export", "cohort", "dashboard", "early_access_feature",
  "error_tracking", "event_definition", "experiment", "experiment_saved_metric", "feature_flag", "group", "insight", "organization",
  "organization_member", "person", "project", "property_definition", "query", "sharing_configuration", "survey", "user",
];

/** For each object nothing, reading, or reading and writing. */
export function scopeChooser(chosen: Signal<string[]>): HTMLElement {
  const levelOf = (o: string) => chosen().find((s) => s.startsWith(`${o}:`))?.split(":")[1] ?? "";
  const choose = (o: string, action: string) => chosen.update((all) => [...all.filter((s) => !s.startsWith(`${o}:`)), ...(action ? [`${o}:${action}`] : [])]);
  const actions = [["", accountWords.none], ["read", accountWords.read], ["write", accountWords.write]] as const;
  return h("div", { class: "scopes", role: "group", "aria-label": accountWords.scopes }, objects.map((o) => field(select(() => levelOf(o), () => actions, (a) => choose(o, a)), { label: o })));
}
