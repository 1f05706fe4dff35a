// The guarded rollout of a flag (experiments.md §4).
import { h, onEnd, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { button, english, showResource } from "../../ui/parts";
import { recordTable } from "../../ui/table";
import { fullTime } from "../../ui/time";
import { resource, invalidate } from "../../api/cache";
import { send } from "../../api/client";
import type { Flag } from "../../api/flags";
import { projectPath } from "../../session";
import { number, percent, words } from "../../words";
import { rolloutWords } from "../../words/rollouts";
import { showRefusal } from "../flags/actions";
import { lockReason } from "./locked";
import { changeNotices, followLine, type Notify } from "./notices";
import { newRollout } from "./rolloutnew";

interface Step {
  percent: number;
  dwell_seconds: number;
}

interface Harm {
  name: string;
  treatment_mean: number | null;
  control_mean: number | null;
  bound: number | null;
  regression: boolean;
  error: string | null;
}

interface Rollout {
  id: number;
  status: string;
  step: number | null;
  steps: Step[];
  step_started_at: string | null;
  ended_at: string | null;
  reasons: string[];
  state_version: number;
  guardrails: { name: string; goal: string }[];
  signals: { name: string; goal: string }[];
  notify: Notify | null;
  last_evaluation: { guardrails: Harm[]; signals: Harm[]; matured: { treatment: number; control: number } } | null;
}

/** The actions that are allowed in each status. */
const allowed: Record<string, string[]> = {
  draft: ["start"],
  running: ["pause", "advance", "rollback"],
  holding: ["pause", "advance", "rollback"],
  paused: ["resume", "rollback"],
};

const open = (r: Rollout | undefined) => r !== undefined && r.status in allowed;

const pollInterval = 30_000; // milliseconds; the server evaluates rollouts each minute

/** Returns the region Guarded rollout. */
export function rollout(flag: Signal<Flag>): HTMLElement {
  const list = resource<{ results: Rollout[] }>(() => ({ path: projectPath("guarded_rollouts/"), query: { feature_flag: flag().id, limit: 1 } }));
  const again = () => (invalidate("guarded_rollouts"), list.reload());
  const timer = setInterval(() => open(list.data()?.results[0]) && again(), pollInterval);
  onEnd(() => clearInterval(timer));
  const make = async () => {
    if (!(await newRollout(flag.peek()))) return;
    again();
    announce(rolloutWords.made);
  };
  const act = async (r: Rollout, name: string) => {
    if (!(await confirm(rolloutWords.asks[name]!, rolloutWords.texts[name]!, rolloutWords.actions[name]!, name === "rollback" ? "danger" : "primary"))) return;
    try {
      const changed = await send<Rollout>("POST", projectPath(`guarded_rollouts/${r.id}/${name}/`), { state_version: r.state_version });
      list.data.set({ results: [changed] }); // the next action needs the new state_version
      announce(rolloutWords.did[name]!);
    } finally {
      again();
    }
  };
  const setNotices = async (r: Rollout) => {
    const changed = await changeNotices(r);
    if (!changed) return;
    list.data.set({ results: [changed] });
    announce(words.saved);
  };
  return h(
    "section",
    { "aria-label": rolloutWords.title, class: "gap-above" },
    h("div", { class: "between gap" }, h("h2", null, rolloutWords.title), when(() => list.data() && !open(list.data()!.results[0]), () => button(rolloutWords.make, { disabledReason: () => lockReason(flag()), run: () => make().catch(showRefusal) }))),
    h("p", { class: "meta" }, rolloutWords.text),
    followLine(flag),
    showResource(list, (data) => [
      when(() => data().results.length === 0, () => h("p", { class: "meta" }, rolloutWords.none)),
      when(() => data().results.length > 0, () => rolloutDetails(() => data().results[0]!, () => lockReason(flag()), (r, name) => act(r, name).catch(showRefusal), (r) => setNotices(r).catch(showRefusal))),
    ]),
  );
}

const reasonsOf = (r: Rollout) => r.reasons.map((x) => rolloutWords.reasons[x] ?? x).join("; ");

function rolloutDetails(r: () => Rollout, locked: () => string | null, act: (r: Rollout, name: string) => unknown, setNotices: (r: Rollout) => unknown): Child {
  const shape: Record<string, string> = { running: "ok", completed: "ok", holding: "warn", rolled_back: "bad", failed: "bad" };
  const stepState = (i: number) => (r().step === null || i > r().step! ? (open(r()) ? "next" : "off") : i < r().step! || r().status === "completed" ? "done" : "now");
  return [
    h(
      "div",
      { class: "between gap" },
      h("p", null, h("span", { class: () => `state ${shape[r().status] ?? ""}` }, () => rolloutWords.statuses[r().status] ?? r().status), () => (r().reasons.length ? `: ${reasonsOf(r())}` : "")),
      h("div", { class: "actions" }, Object.keys(rolloutWords.actions).map((name) =>
        when(() => allowed[r().status]?.includes(name), () => button(rolloutWords.actions[name]!, { kind: name === "rollback" ? "small danger" : "small", disabledReason: locked, run: () => act(r(), name) })),
      ), when(() => open(r()), () => button(rolloutWords.notices, { kind: "small", disabledReason: locked, run: () => setNotices(r()) }))),
    ),
    () => (r().notify?.webhook ? h("p", { class: "meta" }, h("bdi", null, rolloutWords.noticesTo(r().notify!.webhook!.url))) : null),
    recordTable<Step & { i: number }>(
      rolloutWords.steps,
      [
        { label: rolloutWords.share, cell: (s) => () => percent(s().percent), class: "number" },
        { label: rolloutWords.since, cell: (s) => () => (s().i === r().step && r().step_started_at ? h("time", { datetime: r().step_started_at }, fullTime(r().step_started_at!)) : words.dash) },
        { label: rolloutWords.state, cell: (s) => () => rolloutWords.stepStates[stepState(s().i)] },
        { label: rolloutWords.reason, cell: (s) => () => (s().i === r().step ? reasonsOf(r()) || words.dash : words.dash), class: "long" },
      ],
      () => r().steps.map((s, i) => ({ ...s, i })),
      (s) => s.i,
    ),
    when(() => r().guardrails.length > 0, () => harms(rolloutWords.guardrails, "guardrails", r)),
    when(() => r().signals.length > 0, () => harms(rolloutWords.signals, "signals", r)),
    when(() => open(r()) && r().guardrails.every((g) => g.goal === "decrease"), () => h("p", { class: "meta" }, rolloutWords.blind)),
  ];
}

/** Returns the table of the guardrails or signals with the numbers of the last evaluation. */
function harms(name: string, member: "guardrails" | "signals", r: () => Rollout): Child {
  return recordTable<{ i: number; name: string; harm: Harm | undefined }>(
    name,
    [
      { label: rolloutWords.metric, cell: (g) => h("bdi", null, () => g().name), class: "long" },
      { label: rolloutWords.treatment, cell: (g) => () => figure(g().harm?.treatment_mean), class: "number" },
      { label: rolloutWords.control, cell: (g) => () => figure(g().harm?.control_mean), class: "number" },
      { label: rolloutWords.worse, cell: (g) => () => figure(g().harm?.bound && g().harm!.bound! > 0 ? g().harm!.bound : null), class: "number" },
      { label: rolloutWords.people, cell: () => () => (r().last_evaluation ? rolloutWords.peopleOf(number(r().last_evaluation!.matured.treatment), number(r().last_evaluation!.matured.control)) : words.dash), class: "number" },
      { label: rolloutWords.state, cell: (g) => () => g().harm?.error ? english(g().harm!.error!) : (g().harm?.regression ? rolloutWords.harmed : typeof g().harm?.bound === "number" ? rolloutWords.fine : rolloutWords.noData), class: "long" },
    ],
    () => r()[member].map((g, i) => ({ i, name: g.name, harm: r().last_evaluation?.[member]?.[i] })),
    (g) => g.i,
  );
}

const figure = (v: number | null | undefined) => (typeof v === "number" ? String(Number(v.toPrecision(3))) : words.dash);
