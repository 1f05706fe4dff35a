// The explanation of a value as a tree: conditions, the properties that they read, buckets and other flags.
import type { Branch } from "../../ui/tree";
import type { Bucket, Condition, Explanation, Filter, FlagTrace } from "../../api/explain";
import { operators, percent } from "../../words";
import { outcomes, whyWords } from "../../words/why";

export function branches(a: Explanation): Branch[] {
  const flags = a.trace.flags ?? [];
  const own = flags.at(-1);
  if (!own) return [];
  return [...parts(own), ...flags.slice(0, -1).map((f) => ({ label: whyWords.flagIs(f.key, String(f.decision.variant || f.decision.enabled)), items: [{ label: f.decided }, ...parts(f)] }))];
}

function parts(f: FlagTrace): Branch[] {
  const out: Branch[] = [];
  if (f.enrollment) out.push({ label: whyWords.earlyAccess, items: [filter(f.enrollment)] });
  if (f.holdout) out.push({ label: whyWords.holdout, items: [{ label: bucket(f.holdout) }] });
  return [...out, ...(f.conditions ?? []).map(condition)];
}

function condition(c: Condition): Branch {
  const items = (c.filters ?? []).map(filter);
  if (c.rollout) items.push({ label: `${whyWords.rollout} ${percent(c.rollout.share * 100)}: ${bucket(c.rollout)}` });
  if (c.variant) items.push({ label: `${whyWords.variant}: ${bucket(c.variant)}` });
  if (c.note) items.push({ label: c.note });
  return { label: whyWords.conditionIs(c.index + 1, c.reached ? (outcomes[c.outcome] ?? c.outcome) : whyWords.notReached), open: c.reached, items };
}

const bucket = (b: Bucket) => `${b.hashed ? whyWords.bucketOf(b.bucket, b.hash ?? "", b.input ?? "") : whyWords.noHash}: ${result(b.result)}`;

/** Returns the text of a result: a word, or the selected variant. */
const result = (r: string) => whyWords.verdicts[r] ?? r;

function filter(f: Filter): Branch {
  const items = [...(f.items ?? []), ...(f.cohort?.tree ? [f.cohort.tree] : [])].map(filter);
  const end = [result(f.result), f.negated ? whyWords.negated : "", f.note ?? ""].filter(Boolean).join(", ");
  return { label: `${filterRule(f)}: ${end}`, open: true, items };
}

function filterRule(f: Filter): string {
  if (f.kind === "all") return whyWords.allOf;
  if (f.kind === "any") return whyWords.anyOf;
  if (f.cohort) return whyWords.cohort(f.cohort.id);
  const wants = f.operator === "is_set" || f.operator === "is_not_set" ? "" : JSON.stringify(f.operand);
  const text = [f.key ?? f.kind, operators[f.operator ?? ""] ?? f.operator ?? "", wants].filter(Boolean).join(" ");
  if (f.kind === "flag" || !f.type) return text;
  return `${text}: ${f.type === "missing" || f.type === "unknown" ? whyWords.missing : whyWords.saw(JSON.stringify(f.seen), whyWords.valueSources[f.source ?? ""] ?? f.source ?? "")}`;
}
