// The preview of the people in a cohort before it is saved.
import { h, onEnd, signal, when, type Child } from "../../ui/dom";
import { button, problem } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { idsText } from "../../ui/searchbox";
import type { Tree } from "../../api/cohorts";
import { send } from "../../api/client";
import { findPeople, matchLines, membersOf, type Named } from "../../api/people";
import { href } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { cohortWords } from "../../words/cohorts";
import type { Person } from "../people/person";

const shownPeople = 20;

export interface PreviewResult {
  text: string;
  people: Named[];
  unknown: string[];
}

interface Found {
  count: number;
  exact: boolean;
  results: Person[];
}

const namedPerson = (p: Person): Named => ({ uuid: p.uuid, name: p.name, ids: p.distinct_ids });

export async function byRule(tree: Tree, cancel: AbortSignal): Promise<PreviewResult> {
  const got = await send<Found>("POST", projectPath("cohorts/preview/"), { filters: { properties: tree } }, cancel);
  return { text: got.exact ? cohortWords.matchN(got.count) : cohortWords.aboutMatchN(got.count), people: got.results.map(namedPerson), unknown: [] };
}

export async function byLines(lines: string[], cancel: AbortSignal): Promise<PreviewResult> {
  const { persons, unknown } = await matchLines(lines, cancel);
  const { people } = await findPeople(persons.slice(0, shownPeople), "person_id", cancel);
  return { text: cohortWords.matchN(persons.length), people, unknown };
}

/** Looks up the people of a CSV file. Only the first thousand lines are looked up. */
export async function byFile(text: string, cancel: AbortSignal): Promise<PreviewResult> {
  const m = membersOf(text);
  if (!m.by) return { text: cohortWords.noColumn(m.columns.join(", ")), people: [], unknown: [] };
  const found = await findPeople(m.lines.slice(0, 1000), m.by, cancel);
  const notes = [cohortWords.matchN(found.people.length), cohortWords.fileRows(m.rows, m.by), ...(m.lines.length > 1000 ? [cohortWords.onlyCounted] : [])];
  return { text: notes.join(". "), people: found.people.slice(0, shownPeople), unknown: found.unknown };
}

/** Returns the button Preview and its result. */
export function preview(ask: (cancel: AbortSignal) => Promise<PreviewResult | undefined>): Child {
  const got = signal<PreviewResult | undefined>(undefined);
  const fault = signal<unknown>(undefined);
  let cancel: AbortController | undefined;
  onEnd(() => cancel?.abort());
  const run = async () => {
    cancel?.abort();
    const mine = (cancel = new AbortController());
    try {
      got.set(await ask(mine.signal));
      fault.set(undefined);
    } catch (e) {
      if (!mine.signal.aborted) fault.set(e);
    }
  };
  const person = (p: Named) => h("bdi", null, h("a", { href: href(`p/${project.peek()}/people/${p.uuid}`) }, p.name));
  return h(
    "div",
    { class: "stack" },
    h("div", { class: "actions" }, button(cohortWords.preview, { run }), h("span", { role: "status" }, () => got()?.text ?? "")),
    () => (fault() ? problem(words.notDone, fault()) : null),
    when(() => got()?.people.length, () =>
      recordTable<Named>(
        cohortWords.preview,
        [
          { label: words.person, cell: (p) => () => person(p()) },
          { label: words.distinctIDs, cell: (p) => h("bdi", null, () => idsText(p().ids)), class: "code clip-cell" },
        ],
        () => got()?.people ?? [],
        (p) => p.uuid,
      ),
    ),
    when(() => got()?.unknown.length, () => h("div", null, h("h2", null, cohortWords.notFound), h("ul", { "aria-label": cohortWords.notFound, class: "code" }, () => (got()?.unknown ?? []).map((l) => h("li", null, h("bdi", null, l)))))),
  );
}
