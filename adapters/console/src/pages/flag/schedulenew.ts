// The dialog New scheduled change.
import { effect, h, signal, untracked, when, type Child, type Signal } from "../../ui/dom";
import { dialog } from "../../ui/dialog";
import { diffFlags } from "../../ui/diff";
import { button, faultAlert, field, select } from "../../ui/parts";
import { projectZone } from "../../ui/time";
import { parseLocalTime } from "../../ui/zone";
import { needsApproval, requestApproval } from "../../api/approvals";
import { ApiError, send } from "../../api/client";
import { newFilter, type FilterDraft } from "../../api/draft";
import type { Condition, Filters, Flag, Variant } from "../../api/flags";
import { projectPath } from "../../session";
import { words } from "../../words";
import { approvalWords } from "../../words/approvals";
import { flagTabWords } from "../../words/flagtabs";
import { filterRow } from "./filter";

type Kind = keyof typeof flagTabWords.kinds;

/** The state of the dialog. */
interface Choice {
  kind: Signal<Kind>;
  condition: Signal<string>;
  share: Signal<string>;
  filter: Signal<FilterDraft>;
  shares: Signal<string[]>;
}

interface Payload {
  operation: string;
  value: unknown;
}

function payloadOf(flag: Flag, c: Choice): Payload {
  const share = Number(c.share.peek()) || 0;
  const variants = flag.filters.multivariate?.variants ?? [];
  const filter = c.filter.peek().filter;
  const byKind: Record<string, () => Payload> = {
    on: () => ({ operation: "update_status", value: true }),
    off: () => ({ operation: "update_status", value: false }),
    rollout: () => ({ operation: "update_rollout", value: { condition: Number(c.condition.peek()), rollout_percentage: share } }),
    condition: () => ({ operation: "add_release_condition", value: { groups: [{ properties: filter.key ? [filter] : [], rollout_percentage: share }] } }),
    variants: () => ({ operation: "update_variants", value: { variants: variants.map((v, i) => ({ ...v, rollout_percentage: Number(c.shares.peek()[i]) || 0 })) } }),
  };
  return byKind[c.kind.peek()]!();
}

/** Returns the change as a patch of the flag, for a change request. */
function patchOf(flag: Flag, c: Choice): Partial<Flag> {
  const { operation, value } = payloadOf(flag, c);
  if (operation === "update_status") return { active: value as boolean };
  const v = value as { condition: number; rollout_percentage: number; groups: Condition[]; variants: Variant[] };
  const { filters } = flag;
  const byKind: Record<string, () => Partial<Filters>> = {
    update_rollout: () => ({ groups: filters.groups.map((g, i) => (i === v.condition ? { ...g, rollout_percentage: v.rollout_percentage } : g)) }),
    add_release_condition: () => ({ groups: [...filters.groups, ...v.groups] }),
    update_variants: () => ({ multivariate: { ...filters.multivariate, variants: v.variants } }),
  };
  return { filters: { ...filters, ...byKind[operation]!() } };
}

/** Creates a change request. The time of the change is part of the note. */
async function requestChange(flag: Flag, c: Choice, note: string): Promise<void> {
  const patch = patchOf(flag, c);
  await requestApproval(flag, patch, diffFlags(flag, { ...flag, ...patch }).map((x) => x.what).join(", "), note);
}

/** Opens the dialog and schedules a change. It returns whether one was scheduled. */
export async function newChange(flag: Flag): Promise<boolean> {
  const zone = projectZone();
  const variants = flag.filters.multivariate?.variants ?? [];
  const c: Choice = {
    kind: signal<Kind>(flag.active ? "off" : "on"),
    condition: signal("0"),
    share: signal("50"),
    filter: signal(newFilter()),
    shares: signal(variants.map((v) => String(v.rollout_percentage))),
  };
  const fault = signal<string | undefined>(undefined);
  const other = signal("");
  const at = h("input", { type: "text", autocomplete: "off", placeholder: "2026-12-01 09:00" });
  const repeat: HTMLInputElement = h("input", { type: "checkbox", onchange: () => repeats.set(repeat.checked) });
  const repeats = signal(false);
  const every = signal("daily");
  const kinds = Object.keys(flagTabWords.kinds).filter((k) => (k !== "variants" || variants.length > 0) && (k !== "rollout" || flag.filters.groups.length > 0));
  const one = (k: Kind) => h("label", { class: "check" }, h("input", { type: "radio", name: "change", checked: () => c.kind() === k, onchange: () => c.kind.set(k) }), flagTabWords.kinds[k]);
  const needsOthers = signal(false);
  const made = await dialog<boolean>({ title: flagTabWords.newChange, wide: true }, (d) => {
    effect(() => (c.kind(), untracked(() => void needsApproval(flag, patchOf(flag, c)).then(needsOthers.set, () => undefined))));
    const run = async () => {
      const when = parseLocalTime(at.value, zone);
      fault.set(when ? undefined : flagTabWords.whenWanted);
      if (!when) return at.focus();
      try {
        if (needsOthers.peek()) {
          await requestChange(flag, c, flagTabWords.wantedAt(at.value.trim(), zone));
          return d.close(false);
        }
        await send("POST", projectPath("scheduled_changes/"), {
          record_id: flag.id, model_name: "FeatureFlag", scheduled_at: when, payload: payloadOf(flag, c),
          ...(repeats.peek() ? { is_recurring: true, recurrence_interval: every.peek() } : {}),
        });
        d.close(true);
      } catch (e) {
        const refused = e instanceof ApiError;
        if (refused && e.code === "approval_required") needsOthers.set(true); // not known before if the settings cannot be read
        if (refused && e.attr === "scheduled_at") fault.set(e.detail);
        else other.set(refused ? e.detail : String(e));
      }
    };
    return {
      content: [
        faultAlert(other),
        h("div", { role: "radiogroup", "aria-label": flagTabWords.change, class: "choices" }, kinds.map(one)),
        details(flag, c),
        field(at, { label: flagTabWords.when, hint: flagTabWords.whenHint(zone), fault }),
        when(needsOthers, () => h("p", { class: "meta" }, flagTabWords.othersApprove)),
        when(() => !needsOthers(), () => h("div", { class: "pair" }, h("label", { class: "check" }, repeat, flagTabWords.repeat), when(repeats, () => field(select(every, () => Object.entries(flagTabWords.steps), (v) => every.set(v)), { label: flagTabWords.every })))),
      ],
      buttons: () => button(needsOthers() ? approvalWords.request : flagTabWords.scheduleButton, { kind: "primary", run }),
    };
  });
  return made === true;
}

/** Returns the fields of the chosen kind of change. */
function details(flag: Flag, c: Choice): Child {
  const number = (value: () => string, put: (v: string) => void) => {
    const el: HTMLInputElement = h("input", { type: "number", min: 0, max: 100, step: "any", class: "share", value, oninput: () => put(el.value) });
    return el;
  };
  const share = () => field(number(c.share, (v) => c.share.set(v)), { label: flagTabWords.share });
  const act = { change: (_: number, filter: FilterDraft["filter"]) => c.filter.update((f) => ({ ...f, filter })), remove: () => c.filter.set(newFilter()) };
  return [
    when(() => c.kind() === "rollout", () => h("div", { class: "pair" }, field(select(c.condition, () => flag.filters.groups.map((_, i) => [String(i), words.condition(i + 1)] as const), (v) => c.condition.set(v)), { label: flagTabWords.condition }), share())),
    when(() => c.kind() === "condition", () => h("div", { class: "stack" }, filterRow(c.filter, () => 1, act, () => false), share())),
    when(() => c.kind() === "variants", () =>
      h("div", { class: "stack" }, (flag.filters.multivariate?.variants ?? []).map((v, i) => field(number(() => c.shares()[i]!, (x) => c.shares.update((all) => all.map((y, j) => (j === i ? x : y)))), { label: flagTabWords.sharesOf(v.key) }))),
    ),
  ];
}
