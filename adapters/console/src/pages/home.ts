// The page Home: the first steps until they are done, and the latest changes.
import { each, h, type Child } from "../ui/dom";
import { icon, statusIcon } from "../ui/icons";
import { heading, showResource } from "../ui/parts";
import { time } from "../ui/time";
import { resource } from "../api/cache";
import { exposureEvents } from "../api/events";
import { rolloutText, stateOf, type Row } from "../api/flags";
import { href } from "../router";
import { hasPage } from "../routes";
import { projectPath, project } from "../session";
import { words } from "../words";
import { live } from "./homelive";
import { needs } from "./homeneeds";

interface List {
  count: number;
  results: Row[];
}

export default function home(): Child {
  const flags = resource<List>(() => ({ path: projectPath("feature_flags/"), query: { order: "-updated_at", limit: 8 } }));
  const newest = (event: string) => ({ path: projectPath("events/"), query: { event, limit: 1 } });
  const calls = resource<{ results: unknown[] }>(() => newest(exposureEvents[0]));
  const exposures = resource<{ results: unknown[] }>(() => (calls.data()?.results.length === 0 ? newest(exposureEvents[1]) : null));
  const members = resource<{ count?: number; results: unknown[] }>(() => ({ path: "organizations/@current/members/" }));
  const done = {
    flag: () => (flags.data()?.count ?? 0) > 0,
    call: () => (calls.data()?.results.length ?? 0) > 0 || (exposures.data()?.results.length ?? 0) > 0,
    invite: () => (members.data()?.results.length ?? 0) > 1,
  };
  const isLoaded = () => flags.data() !== undefined && (done.call() || exposures.data() !== undefined) && members.data() !== undefined;
  const at = (path: string) => href(`p/${project()}/${path}`);
  const firstFlag = () => flags.data()?.results.at(-1)?.id;
  const steps: [string, () => boolean, () => string][] = [
    [words.steps.flag, done.flag, () => at("flags/new")],
    [words.steps.ask, done.call, () => at(firstFlag() ? `flags/${firstFlag()}/code` : "flags")],
    [words.steps.call, done.call, () => at(firstFlag() ? `flags/${firstFlag()}/code` : "flags")],
    [words.steps.invite, done.invite, () => (hasPage("organization/members") ? href("organization/members") : "")],
  ];
  const step = ([text, is, to]: (typeof steps)[number]) =>
    h("li", { class: () => (is() ? "step done" : "step") }, h("span", { class: "tick", "aria-hidden": "true" }, () => (is() ? icon("check") : null)), to() ? h("a", { href: to }, text) : h("span", null, text), " ", h("span", { class: "meta" }, () => (is() ? words.done : words.todo)));
  return [
    heading(words.home),
    () =>
      isLoaded() && !steps.every(([, is]) => is())
        ? h("section", { class: "card" }, h("h2", { id: "first-steps" }, words.firstSteps), h("ul", { class: "steps", "aria-labelledby": "first-steps" }, steps.map(step)))
        : null,
    needs(),
    live(),
    h("section", { class: "card" }, h("h2", null, words.changedLately), showResource(flags, (data) => (data().results.length ? h("ul", { class: "rows" }, each(() => data().results, (f) => f.id, (f) => changed(f))) : h("p", { class: "meta" }, words.nothingChanged)))),
  ];
}

function changed(f: () => Row): HTMLElement {
  return h(
    "li",
    null,
    h("span", { class: () => `state ${stateOf(f())}` }, () => statusIcon(stateOf(f()))),
    h("a", { class: "code", href: () => href(`p/${project()}/flags/${f().id}`) }, () => f().key),
    h("span", { class: "meta" }, () => rolloutText(f())),
    h("span", { class: "space" }),
    h("span", { class: "meta" }, () => [time(f().updated_at), " ", f().last_modified_by?.first_name ?? ""]),
  );
}
