// The tab Cohorts of a person.
import { h, when, type Child, type Signal } from "../../ui/dom";
import { empty, showResource } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { resource } from "../../api/cache";
import { href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { number, words } from "../../words";
import { personWords } from "../../words/personflags";
import { personPage, type Person } from "./person";

interface Row {
  id: number;
  name: string | null;
  is_static: boolean;
  count: number | null;
}

export default function personCohorts(params: Params): Child {
  return personPage(params, "cohorts", cohorts);
}

function cohorts(person: Signal<Person>): Child {
  const list = resource<{ results: Row[] }>(() => ({ path: projectPath("persons/cohorts/"), query: { person_id: person().uuid } }));
  return showResource(list, (data) => [
    when(() => data().results.length === 0, () => empty(personWords.noCohorts, personWords.noCohortsText)),
    when(() => data().results.length > 0, () =>
      recordTable<Row>(
        words.cohorts,
        [
          { label: personWords.name, cell: (r) => h("bdi", null, () => h("a", { href: href(`p/${project()}/cohorts/${r().id}`) }, r().name ?? words.dash)) },
          { label: personWords.kind, cell: (r) => () => (r().is_static ? personWords.byList : personWords.byRule), class: "meta" },
          { label: words.people, cell: (r) => () => (r().count === null ? words.dash : number(r().count!)), class: "number" },
        ],
        () => data().results,
        (r) => r.id,
      ),
    ),
  ]);
}
