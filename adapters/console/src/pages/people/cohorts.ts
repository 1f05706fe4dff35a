// The cohorts that a person is in now.
import { h, when, type Child, type Signal } from "../../ui/dom";
import { empty, shown } from "../../ui/parts";
import { records } from "../../ui/table";
import { answer } from "../../api/cache";
import { href } from "../../router";
import type { Params } from "../../routes";
import { inProject, project } from "../../session";
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
  const list = answer<{ results: Row[] }>(() => ({ path: inProject("persons/cohorts/"), query: { person_id: person().uuid } }));
  return shown(list, (data) => [
    when(() => data().results.length === 0, () => empty(personWords.noCohorts, personWords.noCohortsText)),
    when(() => data().results.length > 0, () =>
      records<Row>(
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
