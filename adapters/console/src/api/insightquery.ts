// The conversion between queries and the drafts of an insight's form. Members of a query that the
// form has no field for are kept.
import { canonicalJSON, newFilter, type FilterDraft } from "./draft";
import { type Query } from "./chartdata";
import type { Filter } from "./flags";
import { noProperty, propertyRef, sameProperty, type PropertyRef } from "./properties";
import { insightWords } from "../words/insights";

type Members = Record<string, unknown>;

/** A node of series, or an entity of retentionFilter. */
export type Entity = Members & { kind?: string; properties?: unknown; math?: string };

export interface Series {
  id: number;
  /** The name of an event, "#3" for an action, empty for every event. */
  event: string;
  math: string;
  /** The property that is counted, for example summed. */
  property: PropertyRef;
  filters: FilterDraft[];
  was: Entity | null;
}

export interface BreakdownDraft {
  id: number;
  property: PropertyRef;
  was: Members | null;
}

export interface FormulaDraft {
  id: number;
  text: string;
  name: string;
}

export interface InsightDraft {
  name: string;
  kind: string;
  series: Series[];
  formulas: FormulaDraft[];
  /** The filters of all series. Null if the form cannot show them. */
  filters: FilterDraft[] | null;
  /** Whether one of the filters is enough. */
  any: boolean;
  testAccounts: boolean;
  breakdowns: BreakdownDraft[];
  limit: string;
  /** Empty without a comparison, "previous", or how long before, such as "-1w". */
  compare: string;
  /** A key of insightWords.periods or insightWords.morePeriods; chosenDays for the days from and to. */
  period: string;
  from: string;
  to: string;
  interval: string;
  chart: string;
}

export const chosenDays = "days";

let ids = Date.now(); // restored drafts have lower ids
export const newSeries = (event = ""): Series => ({ id: ++ids, event, math: "total", property: noProperty, filters: [], was: null });
export const newBreakdown = (): BreakdownDraft => ({ id: ++ids, property: noProperty, was: null });
export const newFormula = (): FormulaDraft => ({ id: ++ids, text: "", name: "" });

export const emptyInsight = (): InsightDraft => ({
  name: "", kind: "TrendsQuery", series: [newSeries()], formulas: [newFormula()], filters: [], any: false, testAccounts: false,
  breakdowns: [newBreakdown()], limit: "", compare: "", period: "-7d", from: "", to: "", interval: "day", chart: "ActionsLineGraph",
});

/** The parts of the form that the queries of a kind have. */
export const supports = {
  several: (kind: string) => kind !== "LifecycleQuery",
  math: (kind: string) => kind === "TrendsQuery",
  formulas: (kind: string) => kind === "TrendsQuery",
  /** The number of breakdowns. */
  breakdowns: (kind: string) => ({ TrendsQuery: 3, FunnelsQuery: 3, RetentionQuery: 1 })[kind] ?? 0,
  compare: (kind: string) => kind === "TrendsQuery" || kind === "StickinessQuery",
  interval: (kind: string) => kind !== "FunnelsQuery",
  chart: (kind: string) => kind === "TrendsQuery",
};

/** The maths that count a property. */
export const propertyMaths = new Set(["sum", "avg", "min", "max", "median", "p75", "p90", "p95", "p99"]);

/** Reports whether the form supports the kind of a query. */
export const isFormQuery = (q: Query | null): q is Query => q !== null && q.kind in insightWords.kinds;

const object = (v: unknown): Members => (v && typeof v === "object" && !Array.isArray(v) ? (v as Members) : {});
const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
const drafts = (filters: readonly Filter[]): FilterDraft[] => filters.map((filter) => ({ id: newFilter().id, filter }));
const same = (a: unknown, b: unknown) => canonicalJSON(a) === canonicalJSON(b);

/** Returns an object without some members. */
function without(o: Members, ...names: string[]): Members {
  return Object.fromEntries(Object.entries(o).filter(([k]) => !names.includes(k)));
}

const valueless = new Set(["is_set", "is_not_set"]);

/** Reports whether a filter has what its operator needs. Others are not sent. */
function isComplete(f: Filter): boolean {
  if (!f.key) return false;
  if (valueless.has(f.operator ?? "exact")) return true;
  return Array.isArray(f.value) ? f.value.length > 0 : f.value !== undefined && f.value !== null && f.value !== "";
}

const complete = (filters: readonly FilterDraft[]) => filters.map((f) => f.filter).filter(isComplete);

// Series

const isAction = (e: Entity) => e.kind === "ActionsNode" || e.type === "actions";
const eventOf = (e: Entity): string => (isAction(e) ? `#${String(e.id)}` : String((e.kind ? e.event : e.id) ?? ""));

const mathTypes: Record<string, string> = { event: "event_properties", person: "person_properties", session: "session_properties" };
const mathProperty = (e: Entity): PropertyRef => (typeof e.math_property === "string" ? propertyRef(Object.keys(mathTypes).find((t) => mathTypes[t] === e.math_property_type) ?? "event", e.math_property) : noProperty);

const seriesOf = (e: Entity): Series => ({ id: ++ids, event: eventOf(e), math: e.math ?? "total", property: mathProperty(e), filters: drafts(list(e.properties) as Filter[]), was: e });

/** Returns the node of a series, or with entity the form that retentionFilter has. */
function nodeOf(s: Series, entity: boolean, math: boolean): Entity {
  const event = s.event.trim();
  const was: Entity = s.was ?? {};
  const keeps = s.was !== null && eventOf(was) === event;
  let out: Entity;
  if (keeps && !was.kind === entity) {
    out = { ...was };
  } else {
    const rest = without(was, "kind", "type", "event", "id", "name", ...(keeps ? [] : ["custom_name"]));
    const identity = keeps && isAction(was) ? (entity ? { id: was.id, type: "actions" } : { kind: "ActionsNode", id: Number(was.id) }) : entity ? { id: event || null, type: "events" } : { kind: "EventsNode", event: event || null };
    out = { ...identity, ...(entity ? without(rest, "math", "math_property", "math_property_type") : rest) } as Entity;
  }
  if (!same(s.filters.map((f) => f.filter), list(was.properties))) {
    const filters = complete(s.filters);
    if (filters.length) out.properties = filters;
    else delete out.properties;
  }
  if (math && !(s.math === (was.math ?? "total") && sameProperty(s.property, mathProperty(was)))) {
    out = { ...without(out, "math", "math_property", "math_property_type"), ...(s.math === "total" ? {} : { math: s.math }) };
    if (propertyMaths.has(s.math)) Object.assign(out, { math_property: s.property.key, math_property_type: mathTypes[s.property.type] ?? "event_properties" });
  }
  return out;
}

// Filters of all series

const isGroup = (v: unknown): v is { type: string; values: unknown[] } => Array.isArray(object(v).values);

/** Returns the filters of a list, or of a tree with one group. Other trees are undefined. */
function filtersOf(p: unknown): { any: boolean; filters: Filter[] } | undefined {
  if (Array.isArray(p)) return p.some(isGroup) ? undefined : { any: false, filters: p as Filter[] };
  if (!isGroup(p)) return p === undefined || p === null || Object.keys(object(p)).length === 0 ? { any: false, filters: [] } : undefined;
  if (!p.values.some(isGroup)) return { any: p.type === "OR", filters: p.values as Filter[] };
  return p.values.length === 1 ? filtersOf(p.values[0]) : undefined;
}

function propertiesOf(d: InsightDraft, was: unknown): unknown {
  const before = filtersOf(was);
  if (!d.filters || !before || (same(d.filters.map((f) => f.filter), before.filters) && d.any === before.any)) return was;
  const filters = complete(d.filters);
  if (!filters.length) return was === undefined ? undefined : [];
  return d.any || isGroup(was) ? { type: "AND", values: [{ type: d.any ? "OR" : "AND", values: filters }] } : filters;
}

// Breakdowns

function breakdownsOf(filter: unknown): BreakdownDraft[] {
  const b = object(filter);
  const several = list(b.breakdowns).map(object);
  const index = (v: unknown) => (typeof v === "number" ? v : undefined);
  if (several.length) return several.map((x) => ({ id: ++ids, property: propertyRef(String(x.type ?? "event"), String(x.property ?? ""), index(x.group_type_index)), was: x }));
  const one = b.breakdown === undefined || b.breakdown === null ? [] : [b.breakdown].flat();
  const out = one.map((x) => ({ id: ++ids, property: propertyRef(String(b.breakdown_type ?? "event"), String(x), index(b.breakdown_group_type_index)), was: null }));
  return out.length ? out : [newBreakdown()];
}

const limitOf = (filter: unknown) => String(object(filter).breakdown_limit ?? "");

function breakdownFilterOf(d: InsightDraft, filter: unknown): unknown {
  const before = breakdownsOf(filter);
  const unchanged = before.length === d.breakdowns.length && before.every((b, i) => sameProperty(b.property, d.breakdowns[i]!.property));
  if (unchanged && limitOf(filter) === d.limit) return filter;
  const chosen = d.breakdowns.filter((b) => b.property.key).slice(0, supports.breakdowns(d.kind));
  if (!chosen.length) return undefined;
  const rest = without(object(filter), "breakdown", "breakdowns", "breakdown_type", "breakdown_group_type_index", "breakdown_limit", ...(unchanged ? [] : ["breakdown_histogram_bin_count"]));
  const limit = Number(d.limit) ? { breakdown_limit: Number(d.limit) } : {};
  const { type, key, group } = chosen[0]!.property;
  if (type === "cohort") {
    const cohorts = chosen.filter((b) => b.property.type === "cohort").map((b) => (/^\d+$/.test(b.property.key) ? Number(b.property.key) : b.property.key));
    return { ...rest, breakdown: cohorts.length > 1 ? cohorts : cohorts[0], breakdown_type: type, ...limit };
  }
  if (chosen.length === 1 && !chosen[0]!.was) return { ...rest, breakdown: key, breakdown_type: type, ...(group === undefined ? {} : { breakdown_group_type_index: group }), ...limit };
  const parts = chosen.map(({ property: p, was }) => ({
    ...(was && sameProperty(p, propertyRef(String(was.type ?? "event"), String(was.property), was.group_type_index as number | undefined)) ? was : {}),
    type: p.type, property: p.key, ...(p.group === undefined ? {} : { group_type_index: p.group }),
  }));
  return { ...rest, breakdowns: parts, ...limit };
}

// Formulas

function formulasOf(filter: unknown): FormulaDraft[] {
  const f = object(filter);
  const nodes = list(f.formulaNodes).map(object).filter((n) => n.formula);
  const found = nodes.length ? nodes.map((n) => ({ text: String(n.formula), name: String(n.custom_name ?? "") })) : [...list(f.formulas), ...(list(f.formulas).length ? [] : [f.formula])].filter(Boolean).map((text) => ({ text: String(text), name: "" }));
  return found.length ? found.map((x) => ({ id: ++ids, ...x })) : [newFormula()];
}

function trendsFilterOf(d: InsightDraft, was: Members | undefined): Members {
  const out = { ...was, display: d.chart };
  const texts = (all: FormulaDraft[]) => all.map((f) => ({ formula: f.text.trim(), ...(f.name.trim() ? { custom_name: f.name.trim() } : {}) })).filter((f) => f.formula);
  const now = texts(d.formulas);
  if (same(now, texts(formulasOf(was)))) return out;
  return { ...without(out, "formula", "formulas", "formulaNodes"), ...(now.length ? { formulaNodes: now } : {}) };
}

// Comparison

const compareOf = (filter: unknown): string => (object(filter).compare ? String(object(filter).compare_to ?? "") || "previous" : "");

function compareFilterOf(d: InsightDraft, was: unknown): unknown {
  if (compareOf(was) === d.compare) return was;
  if (!d.compare) return undefined;
  return { ...without(object(was), "compare_to"), compare: true, ...(d.compare === "previous" ? {} : { compare_to: d.compare }) };
}

// Dates

const totalDisplays = new Set(["BoldNumber", "ActionsPie", "ActionsBarValue", "ActionsTable", "WorldMap", "Progress"]);
const dayOf = (date: unknown) => /^(\d{4}-\d\d-\d\d)(T00:00:00|T23:59:59)?$/.exec(String(date ?? ""))?.[1];

/** Reports whether a text is a day, such as 2026-01-31. */
export const isDay = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).getTime() > 0 && new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);

/** Reports whether the buckets of a result are hours. */
const isHourly = (d: Pick<InsightDraft, "kind" | "interval" | "chart">) => supports.interval(d.kind) && d.interval === "hour" && !(supports.chart(d.kind) && totalDisplays.has(d.chart));

// A relative date in hours is cut to the start of its hour, and the hour of now counts too: 24 hours before
// now are in 25 hours. The last 24 hours by hour therefore begin 23 hours ago.
const lastDay = "-24h";
const lastDayByHour = "-23h";

function periodOf(q: Query, hourly: boolean): Pick<InsightDraft, "period" | "from" | "to"> {
  const r = object(q.dateRange);
  const [from, to] = [String(r.date_from ?? "") || "-7d", String(r.date_to ?? "")];
  const days = { from: dayOf(from) ?? "", to: dayOf(to) ?? "" };
  if (days.from && days.to) return { period: chosenDays, ...days };
  return { period: hourly && from === lastDayByHour && !to ? lastDay : to ? `${from}..${to}` : from, from: "", to: "" };
}

function dateRangeOf(d: InsightDraft, was: Query | null): unknown {
  const hourly = isHourly(d);
  if (was) {
    const { from, to, period } = periodOf(was, hourly);
    const stays = hourly === isHourly(shape(was)) || ![lastDay, chosenDays].includes(d.period);
    if (stays && d.period === period && d.from === from && d.to === to) return was.dateRange ?? { date_from: "-7d" };
  }
  if (d.period === chosenDays) return { date_from: d.from, date_to: hourly ? `${d.to}T23:59:59` : d.to };
  if (d.period === lastDay) return { date_from: hourly ? lastDayByHour : lastDay };
  const [from, to] = d.period.split("..");
  return { date_from: from, ...(to ? { date_to: to } : {}) };
}

/** Returns the kind, the interval and the chart of a query. */
function shape(q: Query): Pick<InsightDraft, "kind" | "interval" | "chart"> {
  return { kind: q.kind, interval: (q.kind === "RetentionQuery" ? q.retentionFilter?.period?.toLowerCase() : q.interval) ?? "day", chart: q.trendsFilter?.display ?? "ActionsLineGraph" };
}

/** Returns the draft of a query. Of a query that the form does not support, only the name is taken. */
export function insightDraft(name: string, q: Query | null): InsightDraft {
  const out = { ...emptyInsight(), name };
  if (!isFormQuery(q)) return out;
  const r = q.retentionFilter as { targetEntity?: Entity; returningEntity?: Entity } | undefined;
  const pageview = { id: "$pageview", type: "events" };
  const nodes = q.kind === "RetentionQuery" ? [r?.targetEntity ?? pageview, r?.returningEntity ?? pageview] : (list(q.series) as Entity[]);
  const filters = filtersOf(q.properties);
  return {
    ...out,
    ...shape(q),
    series: nodes.length ? nodes.map(seriesOf) : [newSeries()],
    formulas: formulasOf(q.trendsFilter),
    filters: filters ? drafts(filters.filters) : null,
    any: filters?.any ?? false,
    testAccounts: q.filterTestAccounts === true,
    breakdowns: breakdownsOf(q.breakdownFilter),
    limit: limitOf(q.breakdownFilter),
    compare: compareOf(q.compareFilter),
    ...periodOf(q, isHourly(shape(q))),
  };
}

/** Converts a draft to a query. Members of base that the form does not edit are kept. */
export function queryOf(d: InsightDraft, base: Query | null): Query {
  const was = base && base.kind === d.kind ? base : null;
  const q: Query = { ...was, kind: d.kind };
  q.properties = propertiesOf(d, base?.properties);
  if (d.testAccounts !== (base?.filterTestAccounts === true)) q.filterTestAccounts = d.testAccounts;
  else if (base) q.filterTestAccounts = base.filterTestAccounts;
  q.dateRange = dateRangeOf(d, was);
  if (supports.breakdowns(d.kind)) q.breakdownFilter = breakdownFilterOf(d, was?.breakdownFilter);
  if (supports.compare(d.kind)) q.compareFilter = compareFilterOf(d, was?.compareFilter);
  if (d.kind === "RetentionQuery") {
    const [first, again] = [d.series[0], d.series[1] ?? d.series[0]];
    q.retentionFilter = { ...was?.retentionFilter, period: d.interval[0]!.toUpperCase() + d.interval.slice(1), targetEntity: nodeOf(first!, true, false), returningEntity: nodeOf(again!, true, false) } as NonNullable<Query["retentionFilter"]>;
  } else {
    q.series = (supports.several(d.kind) ? d.series : d.series.slice(0, 1)).map((s) => nodeOf(s, false, supports.math(d.kind)));
    if (supports.interval(d.kind)) q.interval = d.interval;
  }
  if (supports.chart(d.kind)) q.trendsFilter = trendsFilterOf(d, was?.trendsFilter);
  return JSON.parse(JSON.stringify(q)) as Query; // drops undefined members
}

/** Reports whether a draft lacks something without which its query cannot run. */
export const isIncomplete = (d: InsightDraft): boolean => (supports.math(d.kind) && d.series.some((s) => propertyMaths.has(s.math) && !s.property.key)) || (d.period === chosenDays && !(isDay(d.from) && isDay(d.to)));

// Members without a field

/** The members of a query that the form edits. The value is the set of edited members of an object, or null for all of it. */
const edited: Record<string, readonly string[] | null> = {
  kind: null, series: null, interval: null, filterTestAccounts: null, properties: null,
  dateRange: ["date_from", "date_to"],
  compareFilter: ["compare", "compare_to"],
  breakdownFilter: ["breakdown", "breakdowns", "breakdown_type", "breakdown_limit", "breakdown_group_type_index"],
  trendsFilter: ["display", "formula", "formulas", "formulaNodes"],
  retentionFilter: ["period", "targetEntity", "returningEntity"],
};
const editedNode = ["kind", "type", "event", "id", "name", "order", "uuid", "math", "math_property", "math_property_type", "properties"];
const editedBreakdown = ["type", "property", "group_type_index"];

/** Returns the members of a query that the form has no field for, by their path. */
export function otherMembers(q: Query): [string, unknown][] {
  const out: [string, unknown][] = [];
  const add = (at: string, o: Members, known: readonly string[]) => {
    for (const [k, v] of Object.entries(o)) if (v !== null && !known.includes(k)) out.push([at + k, v]);
  };
  const node = (at: string, e: unknown) => {
    add(`${at}.`, object(e), editedNode);
    if (isGroup(object(e).properties)) out.push([`${at}.properties`, object(e).properties]);
  };
  add("", q, Object.keys(edited));
  for (const [name, members] of Object.entries(edited)) if (members) add(`${name}.`, object(q[name]), members);
  if (!filtersOf(q.properties)) out.push(["properties", q.properties]);
  list(q.series).forEach((e, i) => node(`series.${i}`, e));
  for (const name of ["targetEntity", "returningEntity"]) node(`retentionFilter.${name}`, object(q.retentionFilter)[name]);
  list(object(q.breakdownFilter).breakdowns).forEach((b, i) => add(`breakdownFilter.breakdowns.${i}.`, object(b), editedBreakdown));
  return out;
}
