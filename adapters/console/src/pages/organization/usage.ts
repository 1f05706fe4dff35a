// The page Usage: the usage of the organization this month, its sources, and the limits.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { chart, valuesTable } from "../../ui/chart";
import { button, faultAlert, field, heading, select, showResource } from "../../ui/parts";
import { formatDay, formatTime } from "../../ui/time";
import { resource, invalidate } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import type { ChartData, Table } from "../../api/chartdata";
import { param, setParams } from "../../router";
import { session } from "../../session";
import { words } from "../../words";
import { organizationWords } from "../../words/organization";

interface Resource {
  usage: number;
  limit: number | null;
  todays_usage: number;
  days: { day: string; project_id: number | null; count: number }[];
}

interface Source {
  project_id: number;
  resource: string;
  key: string;
  sdk: string;
  count: number;
}

type Usage = Record<string, Resource> & { sources: Source[]; period: [string, string] };

const used = (r: Resource) => r.usage + r.todays_usage;

export default function usagePage(): Child {
  const got = resource<Usage>(() => ({ path: "organizations/@current/usage/" }));
  const chosen = () => (param("resource") in words.resources ? param("resource") : "events");
  return [
    heading(organizationWords.usage),
    h("div", { class: "filters low" }, field(select(chosen, () => Object.entries(words.resources), (v) => setParams({ resource: v })), { label: organizationWords.resource })),
    showResource(got, (data) => [() => month(data(), chosen()), () => limits(data(), () => (invalidate("usage"), got.reload()))]),
  ];
}

/** Returns the day on which the limit is reached at the current rate, or undefined if that is not this month. */
export function limitDay(r: Resource, from: string, to: string, now = Date.now()): string | undefined {
  if (!r.limit || !used(r) || used(r) >= r.limit) return undefined;
  const at = Date.parse(from) + ((now - Date.parse(from)) * r.limit) / used(r);
  return at < Date.parse(to) ? formatTime(at, { dateStyle: "medium" }, "UTC") : undefined;
}

function month(u: Usage, name: string): Child {
  const r = u[name]!;
  const label = words.resources[name]!;
  const days = [...new Set(r.days.map((d) => d.day))].sort();
  const usedOn = (day: string) => r.days.filter((d) => d.day === day).reduce((a, d) => a + d.count, 0);
  const line = { label: label, data: days.map(usedOn) };
  const byDay: Table = { columns: [organizationWords.day, organizationWords.countHead], rows: days.map((d, i) => [formatDay(d), line.data[i]!]) };
  const picture: ChartData = { shape: "bars", head: organizationWords.day, labels: days.map(formatDay), lines: [line], open: true, table: byDay };
  const sources = new Map<string, [string, string, string, number]>();
  for (const s of u.sources.filter((s) => s.resource === name)) {
    const id = [s.project_id, s.key, s.sdk].join("\n");
    const was = sources.get(id);
    sources.set(id, [session()?.projects.find((p) => p.id === s.project_id)?.name ?? String(s.project_id), s.key, s.sdk, (was?.[3] ?? 0) + s.count]);
  }
  const bySource: Table = { columns: [organizationWords.project, organizationWords.key, organizationWords.sdk, organizationWords.countHead], rows: [...sources.values()].sort((a, b) => b[3] - a[3]) };
  const late = limitDay(r, u.period[0], u.period[1]);
  return [
    h("section", { class: "card" }, [
      h("h2", null, organizationWords.thisMonth(label)),
      h("p", null, organizationWords.used(used(r), r.limit)),
      r.limit ? h("meter", { "aria-label": organizationWords.thisMonth(label), min: 0, max: r.limit, high: r.limit * 0.8, value: Math.min(used(r), r.limit) }) : null,
      late ? h("p", { class: "warning" }, organizationWords.reachedOn(late)) : null,
    ]),
    days.length ? [h("h2", { class: "gap-above gap" }, organizationWords.byDay), chart(organizationWords.byDay, picture), valuesTable(organizationWords.byDay, byDay)] : h("p", { class: "meta gap-above" }, organizationWords.nothingUsed),
    bySource.rows.length ? [h("h2", { class: "gap-above gap" }, organizationWords.bySource), valuesTable(organizationWords.bySource, bySource)] : null,
  ];
}

/** Returns the form of the limits, which owners can change. */
function limits(u: Usage, again: () => void): Child {
  const texts = signal<Record<string, string>>(Object.fromEntries(Object.keys(words.resources).map((name) => [name, u[name]?.limit?.toString() ?? ""])));
  const fault = signal("");
  const owner = () => (session()?.organization.level ?? 0) >= 15;
  const one = (name: string) => {
    const el: HTMLInputElement = h("input", { type: "number", min: 0, step: 1, value: texts.peek()[name]!, disabled: () => !owner(), oninput: () => texts.update((t) => ({ ...t, [name]: el.value })) });
    return field(el, { label: organizationWords.limitOf(words.resources[name]!) });
  };
  const save = async () => {
    fault.set("");
    try {
      await send("PATCH", "organizations/@current/", { quotas: Object.fromEntries(Object.entries(texts.peek()).map(([name, text]) => [name, text.trim() === "" ? null : Number(text)])) });
      again();
      announce(words.saved);
    } catch (e) {
      fault.set(e instanceof ApiError ? e.detail : String(e));
    }
  };
  return h("section", { class: "card gap-above", "aria-label": organizationWords.limits }, [
    h("h2", null, organizationWords.limits),
    h("p", { class: "meta" }, organizationWords.limitsText),
    faultAlert(fault),
    h("div", { class: "stack gap-above gap form-narrow" }, Object.keys(words.resources).map(one)),
    button(organizationWords.saveLimits, { kind: "primary", scope: "organization:write", disabledReason: () => (owner() ? null : organizationWords.ownersOnly), run: save }),
  ]);
}
