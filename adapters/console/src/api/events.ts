// Events as the API has them.
import { get } from "./client";
import { projectPath } from "../session";

export interface Event {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  created_at: string;
  person_id: string;
  person: { uuid: string; properties: Record<string, unknown> } | null;
  properties: Record<string, unknown>;
}

/** What is known, in one line: the first members that are no one's but the sender's. */
export function propertiesSummary(properties: Record<string, unknown>): string {
  return Object.entries(properties)
    .filter(([k]) => !k.startsWith("$"))
    .slice(0, 4)
    .map(([k, v]) => `${k} ${typeof v === "object" ? JSON.stringify(v) : String(v)}`)
    .join(" · ");
}

/** Events by which SDKs report that a flag gave somebody a value. */
export const exposureEvents = ["$feature_flag_called", "$experiment_exposure"] as const;

/** What an event's line says beside its name. */
export function eventSummary(e: Event): string {
  const p = e.properties;
  return exposureEvents.includes(e.event as (typeof exposureEvents)[number]) ? `${String(p.$feature_flag)} = ${String(p.$feature_flag_response)}` : propertiesSummary(p);
}

/** Names of events that were seen, for a combobox. */
export async function eventNames(typed: string): Promise<{ value: string; text: string }[]> {
  const list = await get<{ results: { name: string }[] }>(projectPath("event_definitions/"), { search: typed, limit: 20 });
  return list.results.map((e) => ({ value: e.name, text: e.name }));
}
