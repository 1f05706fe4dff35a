// What boxes suggest for a few letters.
import type { Option } from "../ui/combobox";
import { get } from "../api/client";
import { projectPath } from "../session";
import type { Person } from "./people/person";

/** People, by name, e-mail or distinct id. */
export async function suggestPeople(search: string): Promise<Option[]> {
  const found = await get<{ results: Person[] }>(projectPath("persons/"), { search, limit: 10 });
  return found.results.map((p) => ({ value: p.distinct_ids[0] ?? "", text: p.name }));
}

/** Keys of flags. */
export async function suggestFlags(search: string): Promise<Option[]> {
  const found = await get<{ results: { key: string }[] }>(projectPath("feature_flags/"), { search, limit: 10 });
  return found.results.map((f) => ({ value: f.key, text: f.key }));
}
