// Events as the API represents them.
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

/** Summarizes properties in one line: the first ones that the sender set, without those of the SDK. */
export function propertiesSummary(properties: Record<string, unknown>): string {
  return Object.entries(properties)
    .filter(([k]) => !k.startsWith("$"))
    .slice(0, 4)
    .map(([k, v]) => `${k} ${typeof v === "object" ? JSON.stringify(v) : String(v)}`)
    .join(" · ");
}

/** The events with which SDKs report the value that a flag returned. */
export const exposureEvents = ["$feature_flag_called", "$experiment_exposure"] as const;

/** Summarizes an event in one line, which is shown next to its name. */
export function eventSummary(e: Event): string {
  const p = e.properties;
  return exposureEvents.includes(e.event as (typeof exposureEvents)[number]) ? `${String(p.$feature_flag)} = ${String(p.$feature_flag_response)}` : propertiesSummary(p);
}

/** Suggests names of stored events for a combobox. */
export async function eventNames(typed: string): Promise<{ value: string; text: string }[]> {
  const list = await get<{ results: { name: string }[] }>(projectPath("event_definitions/"), { search: typed, limit: 20 });
  return list.results.map((e) => ({ value: e.name, text: e.name }));
}
