// The list of cohorts.
import { effect, h, signal, type Child } from "../../ui/dom";
import { button, heading } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { searchBox } from "../../ui/searchbox";
import { get } from "../../api/client";
import type { Cohort } from "../../api/cohorts";
import { go, href, param } from "../../router";
import { projectPath, hasScope, project } from "../../session";
import { number, words } from "../../words";
import { cohortWords } from "../../words/cohorts";

export const cohortName = (c: Pick<Cohort, "id" | "name">) => c.name || `#${c.id}`;

const maxIDs = 200; // cohorts of one request for their flags

/** Counts the flags that use the listed cohorts, directly or through other cohorts. */
function countFlags(list: () => readonly Cohort[] | undefined): (id: number) => number | undefined {
  const counts = signal<ReadonlyMap<number, number>>(new Map());
  const requested = new Set<number>();
  effect(() => {
    const ids = (list() ?? []).map((c) => c.id).filter((id) => !requested.has(id));
    if (!hasScope("feature_flag:read")) return;
    for (let i = 0; i < ids.length; i += maxIDs) {
      const some = ids.slice(i, i + maxIDs);
      some.forEach((id) => requested.add(id));
      get<{ results: Record<string, { flags: number }> }>(projectPath("cohorts/flags/"), { ids: some.join(",") }).then(
        (got) => counts.update((was) => new Map([...was, ...Object.entries(got.results).map(([id, n]) => [Number(id), n.flags] as const)])),
        () => undefined, // the list is shown without the counts
      );
    }
  });
  return (id) => counts().get(id);
}

export default function cohortsPage(): Child {
  const list = pages<Cohort>(() => ({ path: projectPath("cohorts/"), query: { search: param("search"), limit: 50 } }));
  const flags = countFlags(list.data);
  const users = (c: Cohort) => {
    const n = flags(c.id);
    return n === undefined ? words.dash : words.nFlags(n);
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
