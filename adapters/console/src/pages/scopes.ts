// The choice of the scopes of a key.
import { h, type Signal } from "../ui/dom";
import { field, select } from "../ui/parts";
import { accountWords } from "../words/account";

/** The objects of scopes, as in the API. */
export const objects = [
  "access_control", "action", "activity_log", "annotation", "batch_export", "cohort", "dashboard", "early_access_feature",
  "error_tracking", "event_definition", "experiment", "experiment_saved_metric", "feature_flag", "group", "insight", "organization",
  "organization_member", "person", "project", "property_definition", "query", "sharing_configuration", "survey", "user",
];

/** Returns a select for each object: nothing, read, or read and write. */
export function scopeChooser(chosen: Signal<string[]>): HTMLElement {
  const levelOf = (o: string) => chosen().find((s) => s.startsWith(`${o}:`))?.split(":")[1] ?? "";
  const choose = (o: string, action: string) => chosen.update((all) => [...all.filter((s) => !s.startsWith(`${o}:`)), ...(action ? [`${o}:${action}`] : [])]);
  const actions = [["", accountWords.none], ["read", accountWords.read], ["write", accountWords.write]] as const;
  return h("div", { class: "scopes", role: "group", "aria-label": accountWords.scopes }, objects.map((o) => field(select(() => levelOf(o), () => actions, (a) => choose(o, a)), { label: o })));
}
