// Lists that are loaded whole, for controls that choose one of their rows, such as a member.
import { onEnd, signal, untracked } from "../ui/dom";
import { get, type Query } from "./client";
import { hasScope } from "../session";
import { words } from "../words";

/** The maximum number of rows that are loaded, and the number in one request. */
const maxRows = 10_000;
const pageSize = 1000;

export interface WholeList<T> {
  rows: () => readonly T[];
  /** Whether the list has more rows than were loaded. */
  isCut: () => boolean;
  /** Resolves when the first page has arrived, or was refused. */
  first: Promise<void>;
}

interface LateList<T> extends Omit<WholeList<T>, "first"> {
  /** Loads the list when it is called for the first time. It resolves when the first page has arrived, or was refused. */
  start(): Promise<void>;
}

/** Loads all pages of a list, if the session has the scope. Rows appear page by page. */
export function wholeList<T>(path: string, scope: string): WholeList<T> {
  const list = lateList<T>(path, scope);
  return { ...list, first: list.start() };
}

/** Returns a list that is loaded only if it is needed. */
export function lateList<T>(path: string, scope: string, query: Query = {}): LateList<T> {
  const rows = signal<readonly T[]>([]);
  const isCut = signal(false);
  const cancel = new AbortController();
  onEnd(() => cancel.abort());
  const load = async (): Promise<void> => {
    const page = await get<{ results: T[]; next: string | null }>(path, { ...query, limit: pageSize, offset: rows.peek().length || null }, cancel.signal);
    rows.set([...rows.peek(), ...page.results]);
    if (page.next === null) return;
    if (rows.peek().length < maxRows) void load().catch(() => undefined);
    else isCut.set(true);
  };
  let first: Promise<void> | undefined;
  const start = () => (first ??= untracked(() => hasScope(scope)) ? load().catch(() => undefined) : Promise.resolve()); // the control works with the rows that are there
  return { rows, isCut, start };
}

/** Returns an option that says that a list is cut. It has the value of no row, so choosing it chooses none. */
export const cutOption = (list: WholeList<unknown>): (readonly [string, string])[] => (list.isCut() ? [["", words.onlyFirst(list.rows().length)]] : []);

export interface Member {
  user: { id: number; email: string; first_name: string };
}

export const allMembers = (): WholeList<Member> => wholeList("organizations/@current/members/", "organization_member:read");
export const allRoles = (): WholeList<{ id: string; name: string }> => wholeList("organizations/@current/roles/", "organization:read");
