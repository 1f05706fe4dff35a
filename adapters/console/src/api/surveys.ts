// Questions and conditions of surveys as SDKs read them, and answers as SDKs send them.
import { runQuery } from "./query";

export interface Branching {
  type: string;
  /** The index of the next question, for type specific_question. */
  index?: number;
  /** The next question by answer, for type response_based: an index or "end". */
  responseValues?: Record<string, number | string>;
}

export interface Question {
  id?: string;
  type: string;
  question: string;
  description?: string | null;
  optional?: boolean | null;
  buttonText?: string | null;
  link?: string | null;
  display?: string | null;
  scale?: number | null;
  lowerBoundLabel?: string | null;
  upperBoundLabel?: string | null;
  choices?: string[] | null;
  shuffleOptions?: boolean | null;
  hasOpenChoice?: boolean | null;
  branching?: Branching | null;
}

export interface SurveyEvents {
  repeatedActivation?: boolean;
  values?: { name: string }[] | null;
}

export interface Conditions {
  url?: string | null;
  urlMatchType?: string | null;
  selector?: string | null;
  seenSurveyWaitPeriodInDays?: number | null;
  deviceTypes?: string[] | null;
  deviceTypesMatchType?: string | null;
  linkedFlagVariant?: string | null;
  events?: SurveyEvents | null;
  cancelEvents?: SurveyEvents | null;
}

/** Sets members of an object. A value that is empty removes its member. */
export function withMembers<T extends object>(x: T, change: Partial<T>): T {
  const out = { ...x, ...change } as Record<string, unknown>;
  for (const name of Object.keys(change)) {
    const v = out[name];
    if (v === "" || v === undefined || v === null || v === false || (Array.isArray(v) && !v.length)) delete out[name];
  }
  return out as T;
}

/**
 * Changes the order of questions. order has the old index of each question; questions that it leaves out are
 * removed. Branches to a question follow it, and branches to a removed one lead to the next question.
 */
export function reorder(all: readonly Question[], order: readonly number[]): Question[] {
  const target = (old: number | string | undefined) => (typeof old === "number" ? order.indexOf(old) : -1);
  return order.map((old) => {
    const q = all[old]!;
    const b = q.branching;
    if (b?.type === "specific_question") return target(b.index) < 0 ? withMembers(q, { branching: null }) : { ...q, branching: { ...b, index: target(b.index) } };
    if (b?.type !== "response_based" || !b.responseValues) return q;
    const kept = Object.entries(b.responseValues).map(([k, v]) => [k, typeof v === "number" ? target(v) : v] as const).filter(([, v]) => v !== -1);
    return { ...q, branching: { ...b, responseValues: Object.fromEntries(kept) } };
  });
}

/** The groups of the answers of a rating that a branching can name, by scale. */
const ratingGroups: Record<number, string[]> = { 2: ["negative", "positive"], 10: ["detractors", "passives", "promoters"] };

/** Returns the answers that a branching can name, or null if the type of question has none. */
export function branchAnswers(q: Question): string[] | null {
  if (q.type === "rating") return ratingGroups[q.scale ?? 5] ?? ["negative", "neutral", "positive"];
  return q.type === "single_choice" ? (q.choices ?? []).map((_, i) => String(i)) : null;
}

/** Returns the first and the last value of a scale. The scale of ten begins with 0. */
export const scaleBounds = (scale: number): [number, number] => (scale === 10 ? [0, 10] : [1, scale]);

export interface Answer {
  key: string;
  at: string;
  distinct_id: string;
  person: string;
  complete: boolean;
  /** The answers by question; null for a question that was not answered. */
  values: (string | null)[];
}

export interface Answers {
  list: Answer[];
  /** Whether there are more answers than were loaded. */
  cut: boolean;
}

export const maxAnswers = 10_000;
const text = (s: string) => `'${s.replace(/[\\']/g, "\\$&")}'`;

/** Returns the query for the answers: SDKs send an answer in parts with one submission id, of which the last value of each question counts. */
export function answersQuery(survey: string, questions: readonly Question[], from: string): object {
  const value = (q: Question, i: number) => {
    const names = [...(q.id ? [`$survey_response_${q.id}`] : []), i ? `$survey_response_${i}` : "$survey_response"];
    return `argMax(coalesce(${names.map((n) => `properties[${text(n)}]`).join(", ")}, null), timestamp) AS a${i}`;
  };
  const query = `SELECT coalesce(nullIf(toString(properties.$survey_submission_id), ''), toString(uuid)) AS submission, max(timestamp) AS at, argMax(distinct_id, timestamp) AS distinct_id, argMax(toString(person_id), timestamp) AS person, min(if(toString(properties.$survey_completed) = 'false', 0, 1)) AS whole, max(if(toString(properties.$survey_completed) = 'true', 1, 0)) AS completed${questions.map((q, i) => `, ${value(q, i)}`).join("")}
FROM events WHERE event = 'survey sent' AND properties.$survey_id = ${text(survey)} AND timestamp >= ${text(from)}
GROUP BY submission ORDER BY at DESC LIMIT ${maxAnswers + 1}`;
  return { kind: "HogQLQuery", query, name: "survey answers" };
}

export async function loadAnswers(survey: string, questions: readonly Question[], from: string, cancel: AbortSignal): Promise<Answers> {
  const got = await runQuery(answersQuery(survey, questions, from), cancel);
  const rows = got.results as unknown[][];
  const shown = (v: unknown) => (v === null || v === undefined || v === "" ? null : typeof v === "string" ? v : JSON.stringify(v));
  const list = rows.slice(0, maxAnswers).map(([key, at, id, person, whole, completed, ...values]) => ({ key: String(key), at: String(at), distinct_id: String(id), person: String(person), complete: Boolean(whole) || Boolean(completed), values: values.map(shown) }));
  return { list, cut: rows.length > maxAnswers };
}

/** Returns the chosen values of an answer, which are a list if several choices are allowed. */
export function choicesOf(q: Question, value: string): string[] {
  if (q.type !== "multiple_choice" || !value.startsWith("[")) return [value];
  try {
    return (JSON.parse(value) as unknown[]).map((v) => (typeof v === "string" ? v : JSON.stringify(v)));
  } catch {
    return [value];
  }
}

export interface Summary {
  answered: number;
  /** How often each value was chosen: the values of the question in their order, then others by count. */
  counts: [string, number][];
  average: number | null;
  /** The net promoter score, for the scale from 0 to 10. */
  score: number | null;
}

export function summaryOf(q: Question, index: number, list: readonly Answer[]): Summary {
  const values = list.map((a) => a.values[index] ?? null).filter((v) => v !== null);
  const counts = new Map<string, number>();
  if (q.type === "rating") {
    const [from, to] = scaleBounds(q.scale ?? 5);
    for (let v = from; v <= to; v++) counts.set(String(v), 0);
  }
  for (const c of q.choices ?? []) counts.set(c, 0);
  const known = new Set(counts.keys());
  for (const c of values.flatMap((v) => choicesOf(q, v))) counts.set(c, (counts.get(c) ?? 0) + 1);
  const others = [...counts].filter(([v]) => !known.has(v)).sort((a, b) => b[1] - a[1]);
  const numbers = q.type === "rating" ? values.map(Number).filter(Number.isFinite) : [];
  const share = (is: (n: number) => boolean) => (100 * numbers.filter(is).length) / numbers.length;
  return {
    answered: values.length,
    counts: [...[...counts].filter(([v]) => known.has(v)), ...others],
    average: numbers.length ? numbers.reduce((a, b) => a + b, 0) / numbers.length : null,
    score: numbers.length && q.scale === 10 ? share((n) => n >= 9) - share((n) => n <= 6) : null,
  };
}
