// Suggestions for comboboxes.
import type { Option } from "../ui/combobox";
import { get } from "../api/client";
import { projectPath } from "../session";
import type { Person } from "./people/person";

/** Suggests people by name, email address or distinct id. */
export async function suggestPeople(search: string): Promise<Option[]> {
  const found = await get<{ results: Person[] }>(projectPath("persons/"), { search, limit: 10 });
  return found.results.map((p) => ({ value: p.distinct_ids[0] ?? "", text: p.name }));
}

export interface PersonChoice {
  options: (typed: string) => Promise<Option[]>;
  /** Returns the name of a suggested person, or the text itself. */
  name: (id: string) => string;
  /** Returns the distinct id of a suggested person, or the text itself. */
  id: (name: string) => string;
}

/** Suggests people like suggestPeople, for a field that shows their names. */
export function personChoice(): PersonChoice {
  const names = new Map<string, string>();
  const ids = new Map<string, string>();
  const remember = ({ value, text }: Option): Option => {
    const known = ids.get(text);
    const name = known === undefined || known === value ? text : `${text} (${value})`; // two people can have one name
    names.set(value, name);
    ids.set(name, value);
    return { value, text: name };
  };
  return {
    options: async (typed) => (await suggestPeople(typed)).map(remember),
    name: (id) => names.get(id) ?? id,
    id: (name) => ids.get(name) ?? name,
  };
}

/** Suggests keys of flags. */
export async function suggestFlags(search: string): Promise<Option[]> {
  const found = await get<{ results: { key: string }[] }>(projectPath("feature_flags/"), { search, limit: 10 });
  return found.results.map((f) => ({ value: f.key, text: f.key }));
}
