// The page Home: the first steps until they are done, and the latest changes.
import { each, h, when, type Child } from "../ui/dom";
import { icon } from "../ui/icons";
import { heading, showResource } from "../ui/parts";
import { time } from "../ui/time";
import { resource } from "../api/cache";
import type { Query } from "../api/client";
import { exposureEvents } from "../api/events";
import { rolloutText, stateOf, type Row } from "../api/flags";
import { href } from "../router";
import { hasPage } from "../routes";
import { hasScope, projectPath, project } from "../session";
import { words } from "../words";
import { homeWords } from "../words/home";
import { live } from "./homelive";
import { needs } from "./homeneeds";

interface List {
  count: number;
  results: Row[];
}

interface Step {
  text: string;
  /** The scope without which nobody can tell whether the step is done. */
  scope: string;
  done: () => boolean;
  to: () => string;
}

export default function home(): Child {
  const may = (scope: string, q: { path: string; query?: Query }) => (hasScope(scope) ? q : null);
  const [flagsScope, eventsScope, membersScope] = ["feature_flag:read", "query:read", "organization_member:read"] as const;
  const flags = resource<List>(() => may(flagsScope, { path: projectPath("feature_flags/"), query: { order: "-updated_at", limit: 8 } }));
  const newest = (event: string) => may(eventsScope, { path: projectPath("events/"), query: { event, limit: 1 } });
  const calls = resource<{ results: unknown[] }>(() => newest(exposureEvents[0]));
  const exposures = resource<{ results: unknown[] }>(() => (calls.data()?.results.length === 0 ? newest(exposureEvents[1]) : null));
  const members = resource<{ count: number }>(() => may(membersScope, { path: "organizations/@current/members/", query: { limit: 2 } }));
  const called = () => (calls.data()?.results.length ?? 0) > 0 || (exposures.data()?.results.length ?? 0) > 0;
  const at = (path: string) => href(`p/${project()}/${path}`);
  const firstFlag = () => flags.data()?.results.at(-1)?.id;
  const code = () => at(firstFlag() ? `flags/${firstFlag()}/code` : "flags");
  const steps: Step[] = [
    { text: words.steps.flag, scope: flagsScope, done: () => (flags.data()?.count ?? 0) > 0, to: () => at("flags/new") },
    { text: words.steps.ask, scope: eventsScope, done: called, to: code },
    { text: words.steps.call, scope: eventsScope, done: called, to: code },
    { text: words.steps.invite, scope: membersScope, done: () => (members.data()?.count ?? 0) > 1, to: () => (hasPage("organization/members") ? href("organization/members") : "") },
  ].filter((s) => hasScope(s.scope));
  const loaded: Record<string, () => boolean> = { [flagsScope]: () => flags.data() !== undefined, [eventsScope]: () => called() || exposures.data() !== undefined, [membersScope]: () => members.data() !== undefined };
  const isOpen = () => steps.every((s) => loaded[s.scope]!()) && !steps.every((s) => s.done());
  const step = (s: Step) =>
    h("li", { class: () => (s.done() ? "step done" : "step") }, h("span", { class: "tick", "aria-hidden": "true" }, () => (s.done() ? icon("check") : null)), s.to() ? h("a", { href: s.to }, s.text) : h("span", null, s.text), " ", h("span", { class: "meta" }, () => (s.done() ? words.done : words.todo)));
  return [
    heading(words.home),
    () => (isOpen() ? h("section", { class: "card" }, h("h2", { id: "first-steps" }, words.firstSteps), h("ul", { class: "steps", "aria-labelledby": "first-steps" }, steps.map(step))) : null),
    needs(),
    live(),
    hasScope(flagsScope) ? h("section", { class: "card" }, h("h2", null, words.changedLately), showResource(flags, (data) => lately(data))) : null,
  ];
}

/** Returns the flags that were changed last, with a link to the others. */
function lately(data: () => List): Child {
  return [
    when(() => data().results.length, () => h("ul", { class: "rows" }, each(() => data().results, (f) => f.id, (f) => changed(f)))),
    when(() => !data().results.length, () => h("p", { class: "meta" }, words.nothingChanged)),
    when(() => data().count > data().results.length, () => h("p", { class: "gap-above" }, h("a", { href: () => href(`p/${project()}/flags`, { sort: "-changed" }) }, homeWords.allFlags))),
  ];
}

function changed(f: () => Row): HTMLElement {
  return h(
    "li",
    null,
    h("span", { class: () => `state ${stateOf(f())}`, "data-mark": () => stateOf(f()) }),
    h("a", { class: "code", href: () => href(`p/${project()}/flags/${f().id}`) }, () => f().key),
    h("span", { class: "meta" }, () => rolloutText(f())),
    h("span", { class: "space" }),
    h("span", { class: "meta" }, () => [time(f().updated_at), " ", f().last_modified_by?.first_name ?? ""]),
  );
}
