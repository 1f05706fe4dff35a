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

/** Suggests keys of flags. */
export async function suggestFlags(search: string): Promise<Option[]> {
  const found = await get<{ results: { key: string }[] }>(projectPath("feature_flags/"), { search, limit: 10 });
  return found.results.map((f) => ({ value: f.key, text: f.key }));
}
