// Who is signed in, what they may, and where they are.
import { signal } from "./ui/dom";
import { ApiError, get, send } from "./api/client";
import { clearCache } from "./api/cache";

export interface Project {
  id: number;
  name: string;
  level: number;
  timezone: string;
}

export interface Session {
  user: { id: number; uuid: string; email: string; first_name: string };
  scopes: string[];
  organization: { id: string; name: string; level: number };
  projects: Project[];
  project: number | null;
  mode: "full" | "read_only";
  version: string;
}

/** Undefined while it is asked for, null for nobody. */
export const session = signal<Session | null | undefined>(undefined);

/** The project of the page, from its address. */
export const project = signal<number>(0);

export async function loadSession(): Promise<void> {
  try {
    const s = await get<Session>("session/");
    session.set({ ...s, projects: s.projects ?? [] });
  } catch (e) {
    if (!(e instanceof ApiError) || ![401, 403].includes(e.status)) throw e;
    session.set(null);
  }
}

export async function signOut(): Promise<void> {
  await send("DELETE", "session/");
  clearCache();
  sessionStorage.clear();
  session.set(null);
}

/** Whether a scope such as feature_flag:write is there. */
export function hasScope(scope: string): boolean {
  const s = session();
  if (!s) return false;
  const [object, action] = scope.split(":");
  if (action === "write" && s.mode === "read_only") return false;
  return s.scopes.some((x) => x === "*" || x === scope || (action === "read" && x === `${object}:write`));
}

/** A path of the API in the project of the page. */
export function projectPath(path: string): string {
  return `projects/${project()}/${path}`;
}

/** The project that the page names, or the one used last. */
export function homeProject(): number {
  const s = session.peek();
  const last = Number(localStorage.getItem("bunting.project"));
  const isMember = s?.projects.some((p) => p.id === last);
  return isMember ? last : (s?.project ?? s?.projects[0]?.id ?? 0);
}
