// Requests to change a flag that needs approval (console.md N12).
import { announce } from "../ui/announce";
import { project, projectPath } from "../session";
import { approvalWords } from "../words/approvals";
import { invalidate } from "./cache";
import { ApiError, get, send } from "./client";
import type { Flag } from "./flags";

export interface ChangeRequest {
  id: number;
  flag: number;
  flag_key: string;
  base_version: number;
  patch: Partial<Flag>;
  title: string;
  note: string;
  author: string | null;
  editors: string[];
  state: string;
  revision: number;
  votes: { user: string | null; vote: string; revision: number; at: string }[];
  needed: number;
  updated_at: string;
}

export interface Approvals {
  needed: number;
  tags: string[];
  switch_off_free: boolean;
}

export const isOpen = (r: ChangeRequest): boolean => r.state === "open" || r.state === "approved";
export const approvedBy = (r: ChangeRequest): number => r.votes.filter((v) => v.vote === "approve").length;

const harmless = ["name", "tags"]; // members of a flag whose change gives no person another value

/** Reports whether a change needs approval. If the settings cannot be read, it returns false and the server decides. */
export async function needsApproval(f: Pick<Flag, "tags">, patch: Partial<Flag>): Promise<boolean> {
  const a = await get<{ flag_approvals: Approvals }>(`projects/${project.peek()}/`).then(
    (p) => p.flag_approvals,
    (e: unknown) => {
      if (e instanceof ApiError && [403, 404].includes(e.status)) return null;
      throw e;
    },
  );
  const guarded = (tags: string[]) => !a?.tags.length || tags.some((t) => a.tags.includes(t.toLowerCase()));
  if (!a?.needed || !guarded(f.tags)) return false;
  if (patch.tags && !guarded(patch.tags)) return true;
  const rules = Object.keys(patch).filter((k) => !harmless.includes(k));
  return rules.length > 0 && !(a.switch_off_free && rules.length === 1 && patch.active === false);
}

/** Creates a change request, or edits the request with the id change. */
export async function requestApproval(f: Pick<Flag, "id" | "version">, patch: Partial<Flag>, title: string, note: string, change?: number): Promise<void> {
  const body = { patch, base_version: f.version, ...(note ? { note } : {}) };
  if (change) await send("PATCH", projectPath(`change_requests/${change}/`), body);
  else await send("POST", projectPath("change_requests/"), { ...body, flag: f.id, title: title.slice(0, 200) });
  invalidate("change_requests");
  announce(approvalWords.requested);
}
