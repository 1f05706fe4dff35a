// The dialog Copy to project.
import { h, signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { dialog } from "../../ui/dialog";
import { button, field, select } from "../../ui/parts";
import { ApiError, get, send } from "../../api/client";
import type { Row } from "../../api/flags";
import { go } from "../../router";
import { hasScope, project, session, type Project } from "../../session";
import { words } from "../../words";
import { flagListWords } from "../../words/flaglist";

/** Returns the current project, and the other projects of its organization that the person can open. */
function projects(): { from: Project | undefined; others: Project[] } {
  const all = session.peek()?.projects ?? [];
  const from = all.find((p) => p.id === project.peek());
  return { from, others: from ? all.filter((p) => p.organization === from.organization && p.id !== from.id) : [] };
}

/** Returns why the person cannot make flags, or null if they can. */
export const makeDisabledReason = (): string | null => (hasScope("feature_flag:write") ? null : words.needs("feature_flag:write"));

/** Returns why the person cannot copy a flag to another project, or null if they can. */
export const copyDisabledReason = (): string | null => makeDisabledReason() ?? (projects().others.length ? null : flagListWords.noOtherProject);

interface Copied {
  success: { id: number }[];
  failed: { project_id: number; errors: string }[];
}

export async function copyToProject(f: Pick<Row, "key">): Promise<void> {
  const { from, others } = projects();
  const base = `organizations/${from!.organization}/feature_flags/`;
  const target = signal(others[0]!);
  const having = signal<readonly number[]>([]); // the projects that have a flag with this key
  const fault = signal<string | undefined>(undefined);
  const schedule = h("input", { type: "checkbox" });
  const off = h("input", { type: "checkbox" });
  get<{ team_id: number }[]>(base + encodeURIComponent(f.key) + "/").then((list) => having.set(list.map((x) => x.team_id)), () => undefined); // the copy works without the note
  const copy = () =>
    send<Copied>("POST", base + "copy_flags/", { feature_flag_key: f.key, from_project: from!.id, target_project_ids: [target.peek().id], copy_schedule: schedule.checked, disable_copied_flag: off.checked });
  const made = await dialog<number>({ title: words.copyToProject }, (d) => ({
    content: [
      h("p", { class: "code" }, h("bdi", null, f.key)),
      field(select(() => String(target().id), () => others.map((p) => [String(p.id), p.name] as const), (v) => target.set(others.find((p) => String(p.id) === v)!)), { label: flagListWords.project, fault }),
      h("p", { role: "status" }, () => (having().includes(target().id) ? flagListWords.overwrites(target().name) : "")),
      h("label", { class: "check" }, schedule, flagListWords.copySchedule),
      h("label", { class: "check" }, off, flagListWords.copyOff),
      h("p", { class: "meta" }, flagListWords.copyText),
    ],
    buttons: button(words.copy, {
      kind: "primary",
      run: async () => {
        fault.set(undefined);
        try {
          const got = await copy();
          if (got.failed.length) return fault.set(got.failed[0]!.errors);
          d.close(got.success[0]!.id);
        } catch (e) {
          fault.set(e instanceof ApiError ? e.detail : String(e));
        }
      },
    }),
  }));
  if (made === undefined) return;
  const to = target.peek();
  announce(flagListWords.copiedTo(f.key, to.name), { label: flagListWords.show, run: () => void go(`p/${to.id}/flags/${made}`) });
}
