// Lookup of people by the names in a list: distinct ids, email addresses or ids of persons.
import { send } from "./client";
import { runQuery } from "./query";
import { projectPath } from "../session";

export interface Named {
  uuid: string;
  name: string;
  ids: string[];
}

export interface Found {
  people: Named[];
  unknown: string[];
}

export type NamedBy = "person_id" | "distinct_id" | "email";

const where: Record<NamedBy, string> = {
  person_id: "toString(id) in {lines}",
  distinct_id: "arrayExists(x -> x in {lines}, distinct_ids)",
  email: "properties.email in {lines}",
};

export const linesOf = (text: string) => [...new Set(text.split("\n").map((l) => l.trim()).filter(Boolean))];

/** Looks up lines of any kind. It returns the uuids of the persons and the lines that match no person. */
export function matchLines(lines: readonly string[], cancel?: AbortSignal): Promise<{ persons: string[]; unknown: string[] }> {
  return send("POST", projectPath("cohorts/match/"), { lines }, cancel);
}

/** Looks up lines of one kind, as in a file of members. */
export async function findPeople(lines: readonly string[], by: NamedBy, cancel: AbortSignal): Promise<Found> {
  if (!lines.length) return { people: [], unknown: [] };
  const query = `select toString(id), distinct_ids, properties.email from persons where ${where[by]} limit 50000`;
  const got = (await runQuery({ kind: "HogQLQuery", query, values: { lines: lines.map((l) => (by === "person_id" ? l.toLowerCase() : l)) } }, cancel)).results as [string, string[], string | null][];
  const known = new Set(got.flatMap(([uuid, ids, email]) => (by === "person_id" ? uuid : by === "email" ? (email ?? "") : ids)));
  const people = got.map(([uuid, ids, email]) => ({ uuid, ids, name: email || ids[0] || uuid }));
  return { people, unknown: lines.filter((l) => !known.has(l) && !known.has(l.toLowerCase())) };
}

/** Parses CSV into rows. */
export function parseCSV(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const end = () => (row.push(cell.trim()), (cell = ""));
  for (let i = text.startsWith("\ufeff") ? 1 : 0; i < text.length; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') (cell += c), i++;
      else quoted = false;
    } else if (c === '"' && !cell.trim()) quoted = true;
    else if (c === ",") end();
    else if (c === "\n") {
      end();
      if (row.some(Boolean)) rows.push(row);
      row = [];
    } else if (c !== "\r") cell += c;
  }
  end();
  if (row.some(Boolean)) rows.push(row);
  return rows;
}

const headers: [NamedBy, string[]][] = [
  ["person_id", ["person_id", "person-id", "person .id"]],
  ["distinct_id", ["distinct_id", "distinct-id"]],
  ["email", ["email", "e-mail"]],
];

/** Returns the lines of a CSV file as the server reads it. by is undefined if no column identifies people. */
export function membersOf(text: string): { by: NamedBy | undefined; columns: string[]; lines: string[]; rows: number } {
  const rows = parseCSV(text);
  const columns = (rows[0] ?? []).filter((c, i, all) => c || all.slice(i).some(Boolean));
  for (const [by, names] of headers) {
    const at = columns.findIndex((c) => names.includes(c.toLowerCase()));
    if (at >= 0) return { by, columns, rows: rows.length - 1, lines: [...new Set(rows.slice(1).map((r) => r[at] ?? "").filter(Boolean))] };
  }
  const lines = [...new Set(rows.map((r) => r[0] ?? "").filter(Boolean))];
  return { by: columns.length === 1 ? "distinct_id" : undefined, columns, lines, rows: rows.length };
}
