// The list of cohorts.
import { h, type Child } from "../../ui/dom";
import { button, heading } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { resource } from "../../api/cache";
import { flagsUsing, type Cohort } from "../../api/cohorts";
import type { Flag } from "../../api/flags";
import { go, href, param } from "../../router";
import { projectPath, hasScope, project } from "../../session";
import { number, words } from "../../words";
import { cohortWords } from "../../words/cohorts";
import { searchBox } from "../people/list";

export const cohortName = (c: Pick<Cohort, "id" | "name">) => c.name || `#${c.id}`;

/** Loads the flags of the project, to find those that use a cohort. */
export const loadAllFlags = () => resource<{ results: Flag[] }>(() => (hasScope("feature_flag:read") ? { path: projectPath("feature_flags/"), query: { limit: 1000, order: "key" } } : null));

export default function cohortsPage(): Child {
  const list = pages<Cohort>(() => ({ path: projectPath("cohorts/"), query: { search: param("search"), limit: 50 } }));
  const flags = loadAllFlags();
  const users = (c: Cohort) => {
    const all = flags.data();
    return all ? words.nFlags(flagsUsing(c.id, all.results).length) : words.dash;
  };
  return [
    heading(words.cohorts, button(cohortWords.newCohort, { kind: "primary", scope: "cohort:write", run: () => go(`p/${project.peek()}/cohorts/new`) })),
    h("div", { class: "filters", role: "search", "aria-label": words.cohorts }, searchBox(cohortWords.searchCohorts)),
    listOf(list, () => noneOf(["search"], cohortWords.noCohortsMatch, cohortWords.noCohorts, cohortWords.noCohortsText), (rows) =>
      recordTable<Cohort>(
        words.cohorts,
        [
          { label: cohortWords.name, cell: (c) => h("bdi", null, h("a", { href: () => href(`p/${project()}/cohorts/${c().id}`) }, () => cohortName(c()))) },
          { label: cohortWords.kind, cell: (c) => () => (c().is_static ? cohortWords.byList : cohortWords.byRule) },
          { label: words.people, cell: (c) => () => (c().count === null ? words.dash : number(c().count!)), class: "number" },
          { label: cohortWords.counted, cell: (c) => () => (c().is_static ? cohortWords.asItIs : (time(c().last_calculation) ?? words.never)), class: "meta" },
          { label: words.usedBy, cell: (c) => () => users(c()), class: "meta" },
        ],
        rows,
        (c) => c.id,
      ),
    ),
  ];
}
