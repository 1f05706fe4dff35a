// Who would be in a cohort, before it is saved.
import { h, onEnd, signal, when, type Child } from "../../ui/dom";
import { button, problem } from "../../ui/parts";
import { records } from "../../ui/table";
import { conditionsOf, type Tree } from "../../api/cohorts";
import { send } from "../../api/client";
import { findPeople, type Named, type NamedBy } from "../../api/people";
import { href } from "../../router";
import { inProject, project } from "../../session";
import { w } from "../../words";
import { wc } from "../../words/cohorts";

export interface Previewed {
  text: string;
  people: Named[];
  unknown: string[];
}

interface Who {
  after: Record<string, number>;
  exact: boolean;
  sample: number | null;
  of: number;
  results: { person: { uuid: string; name: string; distinct_id: string } }[];
}

/** Whom a rule finds: a flag with these conditions would be on for them. */
export async function byRule(tree: Tree, cancel: AbortSignal): Promise<Previewed> {
  const groups = conditionsOf(tree);
  if (!groups) return { text: wc.notPreviewed, people: [], unknown: [] };
  const got = await send<Who>("POST", inProject("feature_flags/0/who/"), { filters: { groups }, value: "true", limit: 20 }, cancel);
  const n = got.after.true ?? 0;
  return { text: got.exact || !got.sample ? wc.matchN(n) : wc.aboutMatchN(Math.round((n * got.of) / got.sample)), people: got.results.map(({ person: p }) => ({ uuid: p.uuid, name: p.name, ids: [p.distinct_id] })), unknown: [] };
}

export async function byLines(lines: string[], by: NamedBy[], note: string, cancel: AbortSignal): Promise<Previewed> {
  const found = await findPeople(lines.slice(0, 1000), by, cancel);
  return { text: [wc.matchN(found.people.length), note].filter(Boolean).join(". "), people: found.people.slice(0, 20), unknown: found.unknown };
}

/** The button, and what it shows. */
export function preview(ask: (cancel: AbortSignal) => Promise<Previewed | undefined>): Child {
  const got = signal<Previewed | undefined>(undefined);
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
    h("div", { class: "actions" }, button(wc.preview, { run }), h("span", { role: "status" }, () => got()?.text ?? "")),
    () => (fault() ? problem(w.notDone, fault()) : null),
    when(() => got()?.people.length, () =>
      records<Named>(
        wc.preview,
        [
          { label: w.person, cell: (p) => () => person(p()) },
          { label: w.distinctIDs, cell: (p) => h("bdi", null, () => p().ids.slice(0, 3).join(", ")), class: "code clip-cell" },
        ],
        () => got()?.people ?? [],
        (p) => p.uuid,
      ),
    ),
    when(() => got()?.unknown.length, () => h("div", null, h("h2", null, wc.notFound), h("ul", { "aria-label": wc.notFound, class: "code" }, () => (got()?.unknown ?? []).map((l) => h("li", null, h("bdi", null, l)))))),
  );
}
