// Why a flag cannot be changed by this person, for the note above its form and for its controls.
import type { Flag } from "../../api/flags";
import { hasScope } from "../../session";
import { words } from "../../words";

const scope = "feature_flag:write";

/** Returns why the flag cannot be changed here, or null if it can. */
export function lockReason(f: Flag): string | null {
  if (!hasScope(scope)) return words.needs(scope);
  if (f.deleted) return words.readOnlyDeleted;
  if (f.definitions_file) return words.readOnlyFile(f.definitions_file);
  return f.can_edit ? null : words.readOnlyAccess;
}
