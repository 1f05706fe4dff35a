// The page of a group: its properties and its flags.
import { effect, h, onEnd, signal, when, type Child, type Signal } from "../../ui/dom";
import { pages } from "../../ui/pages";
import { button, showResource } from "../../ui/parts";
import { loadRecord, recordPage } from "../../ui/record";
import { factTable, recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { resource } from "../../api/cache";
import { ApiError, get, send } from "../../api/client";
import type { Flag } from "../../api/flags";
import { href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { eventWords } from "../../words/events";
import type { Group, GroupType } from "./list";

interface Verdict {
  value: boolean | string | null;
  reason: { description: string };
}

const step = 20;

export default function groupPage(params: Params): Child {
  const [index, key] = [Number(params.type), params.key!];
  const request = async () => {
    const found = await get<{ results: Group[] }>(projectPath("groups/"), { group_type_index: index, group_key: key });
    if (!found.results[0]) throw new ApiError(404, "not_found", words.notFound, null, "");
    return found.results[0];
  };
  const types = resource<GroupType[]>(() => ({ path: projectPath("groups_types/") }));
  const type = () => types.data()?.find((t) => t.group_type_index === index)?.group_type ?? "";
  return recordPage<Group>({
    record: loadRecord(request),
    title: () => key,
    list: { label: words.groups, path: "groups" },
    facts: (group) => h("p", { class: "meta gap" }, type, ` · ${words.firstSeen} `, () => time(group().created_at)),
    show: (group) => [
      h("section", { class: "card", "aria-label": words.properties }, h("h2", null, words.properties), factTable(words.properties, [words.property, words.value], () => Object.entries(group().group_properties).sort(([a], [b]) => (a < b ? -1 : 1)))),
      when(type, () => flagsOf(index, type(), key)),
    ],
  });
}

/** Returns the flags for groups of this type, with their values for this group. */
function flagsOf(index: number, type: string, key: string): HTMLElement {
  const all = pages<Flag>(() => ({ path: projectPath("feature_flags/"), query: { limit: step, order: "key", aggregation_group_type_index: index } }));
  const found = () => all.data() ?? [];
  return h(
    "section",
    { class: "card", "aria-label": words.flags },
    h("h2", null, words.flags),
    showResource(all, () => [
      h("p", { class: "meta gap" }, () => (found().length ? eventWords.flagsAbout(all.total() ?? found().length) : eventWords.noFlagsAbout)),
      when(() => found().length, () => table(found, { [type]: key })),
      when(all.next, () => h("p", { class: "choices gap-above" }, button(words.loadMore, { run: all.more }), h("span", { class: "meta" }, () => words.shownFirst(found().length)))),
    ]),
  );
}

function table(flags: () => Flag[], groups: Record<string, string>): HTMLElement {
  const cancel = new AbortController();
  onEnd(() => cancel.abort());
  const verdicts = new Map<number, Signal<Verdict | string | null>>();
  const verdict = (id: number) => {
    let v = verdicts.get(id);
    if (!v) verdicts.set(id, (v = signal<Verdict | string | null>(null)));
    return v;
  };
  const requested = new Set<number>();
  effect(() => {
    for (const f of flags()) {
      if (requested.has(f.id)) continue;
      requested.add(f.id);
      send<Verdict>("POST", projectPath(`feature_flags/${f.id}/test_evaluation/`), { distinct_id: groups[Object.keys(groups)[0]!], groups }, cancel.signal).then(
        (v) => verdict(f.id).set(v),
        (e: unknown) => cancel.signal.aborted || verdict(f.id).set(String((e as Error).message)),
      );
    }
  });
  const value = (f: Flag) => {
    const v = verdict(f.id)();
    return v === null ? "…" : typeof v === "string" ? words.dash : v.value === null ? eventWords.undecided : String(v.value);
  };
  const reason = (f: Flag) => {
    const v = verdict(f.id)();
    return v === null ? "" : typeof v === "string" ? v : v.reason.description;
  };
  return recordTable<Flag>(
    words.flags,
    [
      { label: words.flag, cell: (f) => h("a", { class: "code", href: () => href(`p/${project.peek()}/flags/${f().id}`) }, () => f().key) },
      { label: eventWords.value, cell: (f) => h("bdi", null, () => value(f())) },
      { label: words.reason, cell: (f) => () => reason(f()), class: "meta" },
    ],
    flags,
    (f) => f.id,
  );
}
