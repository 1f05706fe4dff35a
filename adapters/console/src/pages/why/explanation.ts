// The explanation of an answer as a tree: conditions, what they saw, buckets, other flags.
import type { Branch } from "../../ui/tree";
import type { Bucket, Condition, Explained, Filter, FlagTrace } from "../../api/explain";
import { operators, percent } from "../../words";
import { outcomes, wy } from "../../words/why";

export function branches(a: Explained): Branch[] {
  const flags = a.trace.flags ?? [];
  const own = flags.at(-1);
  if (!own) return [];
  return [...parts(own), ...flags.slice(0, -1).map((f) => ({ label: wy.flagIs(f.key, String(f.decision.variant || f.decision.enabled)), items: [{ label: f.decided }, ...parts(f)] }))];
}

function parts(f: FlagTrace): Branch[] {
  const out: Branch[] = [];
  if (f.enrollment) out.push({ label: wy.earlyAccess, items: [filter(f.enrollment)] });
  if (f.holdout) out.push({ label: wy.holdout, items: [{ label: bucket(f.holdout) }] });
  return [...out, ...(f.conditions ?? []).map(condition)];
}

function condition(c: Condition): Branch {
  const items = (c.filters ?? []).map(filter);
  if (c.rollout) items.push({ label: `${wy.rollout} ${percent(c.rollout.share * 100)}: ${bucket(c.rollout)}` });
  if (c.variant) items.push({ label: `${wy.variant}: ${bucket(c.variant)}` });
  if (c.note) items.push({ label: c.note });
  return { label: wy.conditionIs(c.index + 1, c.reached ? (outcomes[c.outcome] ?? c.outcome) : wy.notReached), open: c.reached, items };
}

const bucket = (b: Bucket) => `${b.hashed ? wy.bucketOf(b.bucket, b.hash ?? "", b.input ?? "") : wy.noHash}: ${b.result}`;

function filter(f: Filter): Branch {
  const items = [...(f.items ?? []), ...(f.cohort?.tree ? [f.cohort.tree] : [])].map(filter);
  const end = [f.result, f.negated ? wy.negated : "", f.note ?? ""].filter(Boolean).join(", ");
  return { label: `${asked(f)}: ${end}`, open: true, items };
}

function asked(f: Filter): string {
  if (f.kind === "all") return wy.allOf;
  if (f.kind === "any") return wy.anyOf;
  if (f.cohort) return wy.cohort(f.cohort.id);
  const wants = f.operator === "is_set" || f.operator === "is_not_set" ? "" : JSON.stringify(f.operand);
  const text = [f.key ?? f.kind, operators[f.operator ?? ""] ?? f.operator ?? "", wants].filter(Boolean).join(" ");
  if (f.kind === "flag" || !f.type) return text;
  return `${text}: ${f.type === "missing" || f.type === "unknown" ? wy.missing : wy.saw(JSON.stringify(f.seen), f.source ?? "")}`;
}
