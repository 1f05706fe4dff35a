// The session: the signed-in person, their rights, and the current project.
import { signal } from "./ui/dom";
import { get, send } from "./api/client";
import { clearCache } from "./api/cache";
import { place } from "./router";
import { forgetViews } from "./ui/views";

export interface Project {
  id: number;
  name: string;
  level: number;
  timezone: string;
  /** The id of its organization. */
  organization: string;
}

export interface Session {
  user: { id: number; uuid: string; email: string; first_name: string };
  /** When the last proof of identity expires. It is null without a session of this server, as with the sign-in of a service that embeds it. */
  proof_until: string | null;
  /** The language that the account has chosen, or null if it is that of the browser. */
  language: string | null;
  scopes: string[];
  organization: { id: string; name: string; level: number };
  projects: Project[];
  project: number | null;
  mode: "full" | "read_only";
  version: string;
  /** Whether the server has the documentation at /docs/. */
  docs: boolean;
  /** The position of the last change of the project that was named in the request, or null. */
  changes: number | null;
}

/** The session. It is undefined while it is loaded, and null if no person is signed in. */
export const session = signal<Session | null | undefined>(undefined);

/** The id of the current project, from the URL. */
export const project = signal<number>(0);

/** The position of the last change before pages of a project were loaded. */
export let loadedAt: { project: number; position: number } | null = null;

export async function loadSession(): Promise<void> {
  const asked = project.peek() || projectOfPlace() || lastProject();
  const s = await get<Session | null>("session/current/", { project: asked || null });
  loadedAt = s && s.changes !== null ? { project: asked, position: s.changes } : null;
  session.set(s && { ...s, projects: s.projects ?? [] });
}

const projectOfPlace = (): number => Number(/^p\/(\d+)(\/|$)/.exec(place.peek().path)?.[1] ?? 0);
const lastProject = (): number => Number(localStorage.getItem("bunting.project"));

export async function signOut(): Promise<void> {
  await send("DELETE", "session/");
  clearCache();
  forgetViews();
  sessionStorage.clear();
  session.set(null);
}

/** Reports whether the session has a scope such as feature_flag:write. */
export function hasScope(scope: string): boolean {
  const s = session();
  if (!s) return false;
  const [object, action] = scope.split(":");
  if (action === "write" && s.mode === "read_only") return false;
  return s.scopes.some((x) => x === "*" || x === scope || (action === "read" && x === `${object}:write`));
}

/** Reports whether this server keeps the session. A service that embeds the server may have its own sign-in instead. */
export const hasOwnSession = (): boolean => Boolean(session()?.proof_until);

/** Reports whether the person is at least an administrator of the organization. */
export const isAdministrator = (): boolean => (session()?.organization.level ?? 0) >= 8;

/** Returns the API path of an object in the current project. */
export function projectPath(path: string): string {
  return `projects/${project()}/${path}`;
}

/** Returns the id of the current project, or of the one that was used last. */
export function homeProject(): number {
  const s = session.peek();
  const last = lastProject();
  const isMember = s?.projects.some((p) => p.id === last);
  return isMember ? last : (s?.project ?? s?.projects[0]?.id ?? 0);
}
