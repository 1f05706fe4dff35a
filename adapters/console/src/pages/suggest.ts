// What boxes suggest for a few letters.
import type { Option } from "../ui/combobox";
import { get } from "../api/client";
import { inProject } from "../session";
import type { Person } from "./people/person";

/** People, by name, e-mail or distinct id. */
export async function peopleNamed(search: string): Promise<Option[]> {
  const found = await get<{ results: Person[] }>(inProject("persons/"), { search, limit: 10 });
  return found.results.map((p) => ({ value: p.distinct_ids[0] ?? "", text: p.name }));
}

/** Keys of flags. */
export async function flagsNamed(search: string): Promise<Option[]> {
  const found = await get<{ results: { key: string }[] }>(inProject("feature_flags/"), { search, limit: 10 });
  return found.results.map((f) => ({ value: f.key, text: f.key }));
}
