// Access rules as the API represents them, and the members and roles that they name.
import { get, type Query } from "./client";

export interface Rule {
  access_level: string;
  resource: string;
  resource_id: string | null;
  /** The id of a membership. A rule without a member and a role is for everyone. */
  organization_member: string | null;
  role: string | null;
}

export interface Rules {
  access_controls: Rule[];
  available_access_levels: string[];
  default_access_level: string;
  minimum_access_level: string;
  maximum_access_level: string;
  user_can_edit_access_levels: boolean;
}

export interface UserAccess {
  user_id: number;
  access_level: string;
  access_source: string;
  organization_membership_id: string;
}

export interface Member {
  id: string;
  user: { id: number; uuid: string; email: string; first_name: string };
  level: number;
  joined_at: string;
}

export interface RoleMember {
  id: string;
  user: { uuid: string; email: string };
}

export interface Role {
  id: string;
  name: string;
  members: RoleMember[];
  is_default: boolean;
}

/** Whom a rule can name: at most maxRows members and roles. */
export interface Subjects {
  members: Member[];
  roles: Role[];
  /** Whether there are more members or roles than were loaded. */
  cut: boolean;
}

const perPage = 200;
const maxRows = 2000;

async function rowsOf<T>(path: string): Promise<{ rows: T[]; cut: boolean }> {
  const rows: T[] = [];
  let query: Query = { limit: perPage };
  for (;;) {
    const page = await get<{ results: T[]; next: string | null }>(path, query);
    rows.push(...page.results);
    if (!page.next || rows.length >= maxRows) return { rows, cut: page.next !== null };
    query = Object.fromEntries(new URL(page.next).searchParams);
  }
}

export async function loadSubjects(): Promise<Subjects> {
  const [members, roles] = await Promise.all([rowsOf<Member>("organizations/@current/members/"), rowsOf<Role>("organizations/@current/roles/")]);
  return { members: members.rows, roles: roles.rows, cut: members.cut || roles.cut };
}

/** Returns the subject of a rule as the value of a select, and back as members of a rule. */
export const subjectOf = (r: Rule): string => (r.role ? `role ${r.role}` : r.organization_member ? `member ${r.organization_member}` : "");

export function ofSubject(subject: string): Pick<Rule, "organization_member" | "role"> {
  const [kind, id] = subject.split(" ");
  return { organization_member: kind === "member" ? id! : null, role: kind === "role" ? id! : null };
}

/** Returns the levels that rules about a target may have, from the lowest to the highest. */
export function levelsOf(r: Rules): string[] {
  const all = r.available_access_levels;
  return all.slice(all.indexOf(r.minimum_access_level), all.indexOf(r.maximum_access_level) + 1);
}
