// References to properties in filters and breakdowns, their texts such as "plan (person)", and suggestions.
import { signal, untracked } from "../ui/dom";
import type { Option } from "../ui/combobox";
import { get } from "./client";
import { projectPath } from "../session";
import { insightWords } from "../words/insights";

/** A property of events, people or groups, or a cohort, whose key is its id. Queries of other clients may have other types. */
export interface PropertyRef {
  type: string;
  key: string;
  group?: number;
}

export const noProperty: PropertyRef = { type: "event", key: "" };

export const sameProperty = (a: PropertyRef, b: PropertyRef) => a.key === b.key && (a.key === "" || (a.type === b.type && a.group === b.group));

/** Returns a reference. group is left out if it is undefined. */
export const propertyRef = (type: string, key: string, group?: number): PropertyRef => (group === undefined ? { type, key } : { type, key, group });

interface GroupType {
  group_type: string;
  group_type_index: number;
}

interface List<T> {
  results: T[];
}

/** The names of a project's group types and cohorts, with which properties are shown and read. */
export interface PropertyNames {
  text(p: PropertyRef): string;
  /** Finds the property of a typed text. A name without a type is a property of events, or of what else has a property of this name. */
  find(text: string, types: readonly string[]): Promise<PropertyRef>;
  suggest(typed: string, types: readonly string[]): Promise<Option[]>;
}

/** The types that the form can choose. */
export const chosenTypes = ["event", "person", "group", "cohort"] as const;

const all = "all"; // the key of all people in a breakdown by cohorts

export function propertyNames(): PropertyNames {
  const groups = signal<readonly GroupType[]>([]);
  const cohorts = signal<ReadonlyMap<string, string>>(new Map());
  let loading: Promise<void> | undefined;
  /** Loads the group types and the cohorts of the first page once. */
  const load = () =>
    (loading ??= Promise.all([
      get<GroupType[]>(projectPath("groups_types/")).then((list) => groups.set(list), () => undefined),
      get<List<{ id: number; name: string | null }>>(projectPath("cohorts/"), { limit: 100 }).then((l) => addCohorts(l.results), () => undefined),
    ]).then(() => undefined));
  const addCohorts = (list: { id: number; name: string | null }[]) => cohorts.update((was) => new Map([...was, ...list.map((c) => [String(c.id), c.name || `#${c.id}`] as const)]));
  const groupType = (index: number | undefined) => groups().find((g) => g.group_type_index === index)?.group_type ?? insightWords.groupType(index ?? 0);

  function text(p: PropertyRef): string {
    if (!p.key) return "";
    if (p.type === "group" || p.type === "cohort") untracked(() => void load());
    if (p.type === "event") return p.key;
    if (p.type === "cohort") return p.key === all || p.key === "0" ? insightWords.allUsers : insightWords.propertyOf(cohorts().get(p.key) ?? `#${p.key}`, insightWords.cohort);
    return insightWords.propertyOf(p.key, p.type === "person" ? insightWords.personType : p.type === "group" ? groupType(p.group) : p.type);
  }

  /** Parses a text. Its type is undefined if the text does not name one. */
  function parse(typed: string): PropertyRef | undefined {
    if (typed === insightWords.allUsers) return propertyRef("cohort", all);
    const known: PropertyRef[] = [propertyRef("person", ""), ...groups.peek().map((g) => propertyRef("group", "", g.group_type_index))];
    for (const p of known) {
      const end = text({ ...p, key: "\u0000" }).split("\u0000")[1]!;
      if (typed.endsWith(end) && typed.length > end.length) return { ...p, key: typed.slice(0, -end.length) };
    }
    const cohort = [...cohorts.peek().keys()].find((id) => text(propertyRef("cohort", id)) === typed);
    return cohort ? propertyRef("cohort", cohort) : undefined;
  }

  async function references(typed: string, types: readonly string[]): Promise<PropertyRef[]> {
    await load();
    const search = parse(typed)?.key ?? typed;
    const defined = (type: string, group?: number) =>
      get<List<{ name: string }>>(projectPath("property_definitions/"), { type, search, limit: 10, group_type_index: group }).then((l) => l.results.map((p) => propertyRef(type, p.name, group)), () => []);
    const people = async () => {
      const found = await get<List<{ id: number; name: string | null }>>(projectPath("cohorts/"), { search, limit: 10 }).catch(() => ({ results: [] }));
      addCohorts(found.results);
      return [propertyRef("cohort", all), ...found.results.map((c) => propertyRef("cohort", String(c.id)))];
    };
    const lists = await Promise.all(types.flatMap((t) => (t === "cohort" ? [people()] : t === "group" ? groups.peek().map((g) => defined("group", g.group_type_index)) : [defined(t)])));
    return lists.flat();
  }

  return {
    text,
    async find(typed, types) {
      const name = typed.trim();
      if (!name) return noProperty;
      const parsed = parse(name);
      if (parsed && types.includes(parsed.type)) return parsed;
      const known = await references(name, types).catch(() => []);
      const again = parse(name); // the names may have been loaded meanwhile
      if (again && types.includes(again.type)) return again;
      return known.find((p) => p.type === "event" && p.key === name) ?? known.find((p) => p.type !== "cohort" && p.key === name) ?? propertyRef("event", name);
    },
    suggest: async (typed, types) => (await references(typed, types)).map((p) => ({ value: text(p), text: text(p) })),
  };
}
