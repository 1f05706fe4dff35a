// The tab Flags of a person: simulated and last assigned values (console.md N16).
import { h, type Child, type Signal } from "../../ui/dom";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { button } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { searchBox } from "../../ui/searchbox";
import { href, param } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { personWords } from "../../words/personflags";
import { pinWords } from "../../words/pins";
import { showRefusal } from "../flags/actions";
import { pinValue } from "../pin";
import { personPage, pinSubject, type Person } from "./person";

interface Row {
  id: number;
  key: string;
  value: unknown;
  reason: string;
  assigned: { value: unknown; at: string } | null;
  differs: string | null;
  pinned: boolean;
}

export default function personFlags(params: Params): Child {
  return personPage(params, "flags", flags);
}

const text = (v: unknown) => (v === null || v === undefined ? personWords.undecided : String(v));

function flags(person: Signal<Person>): Child {
  const list = pages<Row>(() => ({ path: projectPath(`persons/${person().uuid}/flags/`), query: { search: param("search"), limit: 100 } }));
  const why = (r: Row) => h("a", { href: href(`p/${project()}/why`, { person: person().distinct_ids[0] ?? "", flag: r.key }), "aria-label": personWords.why(r.key) }, words.why);
  const pin = (key: string) => pinValue({ key, person: pinSubject(person.peek()) }).then((done) => done && list.reload(), showRefusal);
  return [
    h("div", { class: "filters", role: "search", "aria-label": words.flags }, searchBox(words.searchFlags)),
    listOf(list, () => noneOf(["search"], words.noFlagsMatch, words.noFlags, words.noFlagsText), (rows) =>
      recordTable<Row>(
        words.flags,
        [
          { label: words.flag, cell: (r) => h("bdi", { class: "code" }, () => h("a", { href: href(`p/${project()}/flags/${r().id}`) }, r().key)) },
          { label: personWords.now, cell: (r) => [h("bdi", null, () => text(r().value)), " ", () => (r().pinned ? h("span", { class: "meta" }, personWords.pinned) : null)] },
          {
            label: personWords.last,
            cell: (r) => [
              () => (r().assigned ? [h("bdi", null, text(r().assigned!.value)), " ", h("span", { class: "meta" }, time(r().assigned!.at))] : words.never),
              () => (r().differs ? h("p", { class: "meta" }, personWords.differs[r().differs!] ?? r().differs) : null),
            ],
          },
          { label: words.reason, cell: (r) => () => personWords.reasons[r().reason] ?? r().reason, class: "meta" },
          { label: "", cell: (r) => [() => why(r()), " ", button(pinWords.pinButton, { kind: "small", "aria-label": () => pinWords.pinKey(r().key), scope: "feature_flag:write", run: () => pin(r.peek().key) })], class: "tight" },
        ],
        rows,
        (r) => r.id,
      ),
    ),
  ];
}
