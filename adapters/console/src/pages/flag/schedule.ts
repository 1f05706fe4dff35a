// The tab Schedule of a flag: changes at a later time.
import { h, when, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm } from "../../ui/dialog";
import { filtersText } from "../../ui/diff";
import { button, empty, english, showResource } from "../../ui/parts";
import { more } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { fullTime } from "../../ui/time";
import { invalidate } from "../../api/cache";
import { send } from "../../api/client";
import type { Condition, Flag, User, Variant } from "../../api/flags";
import type { Params } from "../../routes";
import { projectPath } from "../../session";
import { percent, words } from "../../words";
import { flagTabWords } from "../../words/flagtabs";
import { showRefusal } from "../flags/actions";
import { flagPage } from "./frame";
import { lockReason } from "./locked";
import { rollout } from "./rollout";
import { newChange } from "./schedulenew";

interface Scheduled {
  id: number;
  payload: { operation: string; value: unknown };
  scheduled_at: string;
  executed_at: string | null;
  failure_reason: string | null;
  is_recurring: boolean;
  recurrence_interval: string | null;
  change_note: string;
  created_by: User | null;
}

export default function schedulePage(params: Params): Child {
  return flagPage(params, "schedule", (flag) => schedule(flag));
}

/** Describes a scheduled change. */
function describeChange(c: Scheduled): string {
  const v = c.payload.value as { condition: number; rollout_percentage: number; groups: Condition[]; variants: Variant[] };
  const shareOf = (g: Condition) => String(g.rollout_percentage ?? 100);
  const describe: Record<string, () => string> = {
    update_status: () => (c.payload.value ? flagTabWords.kinds.on! : flagTabWords.kinds.off!),
    update_rollout: () => flagTabWords.rolloutText(v.condition + 1, String(v.rollout_percentage)),
    add_release_condition: () => v.groups.map((g) => flagTabWords.addText(filtersText(g), shareOf(g))).join("; "),
    update_variants: () => flagTabWords.variantsText(v.variants.map((x) => `${x.key} ${percent(x.rollout_percentage)}`).join(", ")),
  };
  return describe[c.payload.operation]?.() ?? c.payload.operation;
}

const stateOf = (c: Scheduled) => (c.failure_reason ? "failed" : c.executed_at ? "done" : "waiting");

function schedule(flag: Signal<Flag>): Child {
  const list = pages<Scheduled>(() => ({ path: projectPath("scheduled_changes/"), query: { model_name: "FeatureFlag", record_id: flag().id, limit: 100 } }));
  const again = () => (invalidate("scheduled_changes"), list.reload());
  const make = async () => {
    if (!(await newChange(flag.peek()))) return;
    again();
    announce(flagTabWords.scheduled);
  };
  const cancel = async (c: Scheduled) => {
    if (!(await confirm(flagTabWords.cancelAsk, flagTabWords.cancelText, flagTabWords.cancelChange))) return;
    await send("DELETE", projectPath(`scheduled_changes/${c.id}/`));
    again();
    announce(flagTabWords.cancelled);
  };
  const shape: Record<string, string> = { waiting: "", done: "ok", failed: "bad" };
  return [
    h("div", { class: "between gap" }, h("h2", null, flagTabWords.schedule), button(flagTabWords.newChange, { disabledReason: () => lockReason(flag()), run: make })),
    showResource(list, (data) => [
      when(() => data().length === 0, () => empty(flagTabWords.nothing, flagTabWords.nothingText)),
      when(() => data().length > 0, () =>
        recordTable<Scheduled>(
          flagTabWords.changes,
          [
            { label: flagTabWords.when, cell: (c) => () => h("time", { datetime: c().scheduled_at }, fullTime(c().scheduled_at)) },
            { label: flagTabWords.change, cell: (c) => [h("bdi", null, () => describeChange(c())), () => (c().change_note ? h("p", { class: "meta" }, c().change_note) : null)], class: "long" },
            { label: flagTabWords.repeats, cell: (c) => () => (c().is_recurring ? (flagTabWords.steps[c().recurrence_interval ?? ""] ?? "") : words.dash) },
            { label: flagTabWords.state, cell: (c) => [() => h("span", { class: `state ${shape[stateOf(c())]}` }, flagTabWords.states[stateOf(c())]), () => (c().failure_reason ? h("p", { class: "fault" }, english(c().failure_reason!)) : null)] },
            { label: flagTabWords.by, cell: (c) => h("bdi", null, () => c().created_by?.email ?? words.dash), class: "meta" },
            { label: "", cell: (c) => () => (stateOf(c()) === "waiting" ? button(words.cancel, { kind: "small", "aria-label": flagTabWords.cancelChange, scope: "feature_flag:write", run: () => cancel(c.peek()).catch(showRefusal) }) : null), class: "tight" },
          ],
          data,
          (c) => c.id,
        ),
      ),
      more(list),
    ]),
    rollout(flag),
  ];
}
