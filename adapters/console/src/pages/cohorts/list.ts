// Cohorts: who is in them by rule or by list.
import { h, when, type Child } from "../../ui/dom";
import { button, empty, heading, shown } from "../../ui/parts";
import { pages } from "../../ui/pages";
import { records } from "../../ui/table";
import { time } from "../../ui/time";
import { answer } from "../../api/cache";
import { usersOf, type Cohort } from "../../api/cohorts";
import type { Flag } from "../../api/flags";
import { go, href, param, setParams } from "../../router";
import { inProject, may, project } from "../../session";
import { number, w } from "../../words";
import { wc } from "../../words/cohorts";
import { searchBox } from "../people/list";

export const cohortName = (c: Pick<Cohort, "id" | "name">) => c.name || `#${c.id}`;

/** The flags of the project, to see which of them ask for a cohort. */
export const allFlags = () => answer<{ results: Flag[] }>(() => (may("feature_flag:read") ? { path: inProject("feature_flags/"), query: { limit: 1000, order: "key" } } : null));

export default function cohortsPage(): Child {
  const list = pages<Cohort>(() => ({ path: inProject("cohorts/"), query: { search: param("search"), limit: 50 } }));
  const flags = allFlags();
  const users = (c: Cohort) => {
    const all = flags.data();
    return all ? w.nFlags(usersOf(c.id, all.results).length) : w.dash;
  };
  return [
    heading(w.cohorts, button(wc.newCohort, { kind: "primary", scope: "cohort:write", run: () => go(`p/${project.peek()}/cohorts/new`) })),
    h("div", { class: "filters", role: "search", "aria-label": w.cohorts }, searchBox(wc.searchCohorts)),
    shown(list, (data) => [
      when(() => data().length === 0 && param("search"), () => empty(wc.noCohortsMatch, w.noFlagsMatchText, button(w.clearFilters, { run: () => setParams({ search: "" }) }))),
      when(() => data().length === 0 && !param("search"), () => empty(wc.noCohorts, wc.noCohortsText)),
      when(() => data().length > 0, () =>
        records<Cohort>(
          w.cohorts,
          [
            { label: wc.name, cell: (c) => h("bdi", null, h("a", { href: () => href(`p/${project()}/cohorts/${c().id}`) }, () => cohortName(c()))) },
            { label: wc.kind, cell: (c) => () => (c().is_static ? wc.byList : wc.byRule) },
            { label: w.people, cell: (c) => () => (c().count === null ? w.dash : number(c().count!)), class: "number" },
            { label: wc.counted, cell: (c) => () => (c().is_static ? wc.asItIs : (time(c().last_calculation) ?? w.never)), class: "meta" },
            { label: w.usedBy, cell: (c) => () => users(c()), class: "meta" },
          ],
          data,
          (c) => c.id,
        ),
      ),
      when(list.next, () => h("p", { class: "gap-above" }, button(w.loadMore, { run: list.more }))),
    ]),
  ];
}
