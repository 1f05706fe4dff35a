// The flags that use a cohort.
import { each, h, when } from "../../ui/dom";
import { button, showResource } from "../../ui/parts";
import { pages } from "../../ui/pages";
import type { Row } from "../../api/flags";
import { href } from "../../router";
import { projectPath, hasScope, project } from "../../session";
import { words } from "../../words";
import { cohortWords } from "../../words/cohorts";

/** Returns the list of the flags that use a cohort, directly or through other cohorts. */
export function usedBy(id: number): HTMLElement {
  const may = hasScope("feature_flag:read");
  const flags = pages<Pick<Row, "id" | "key">>(() => (may ? { path: projectPath("feature_flags/"), query: { view: "list", cohort: id, order: "key", limit: 50 } } : null));
  const list = () => showResource(flags, (data) => [
    when(() => data().length === 0, () => h("p", { class: "meta" }, cohortWords.usedByNone)),
    when(() => data().length > 0, () => h("ul", { "aria-label": words.usedBy, class: "rows" }, each(data, (f) => f.id, (f) => h("li", null, h("a", { class: "code", href: () => href(`p/${project.peek()}/flags/${f().id}`) }, () => f().key))))),
    when(flags.next, () => h("p", { class: "gap-above" }, button(words.loadMore, { run: flags.more }))),
  ]);
  return h("section", { class: "card", "aria-label": words.usedBy }, h("h2", null, words.usedBy), may ? list() : h("p", { class: "meta" }, words.needs("feature_flag:read")));
}
