// The holdouts of a project: shares of people who are left out of experiments.
import { h, signal, type Child } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { button, faultAlert, field, heading } from "../../ui/parts";
import { listOf, noneOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { invalidate } from "../../api/cache";
import { ApiError, send } from "../../api/client";
import type { Holdout } from "../../api/experiments";
import { projectPath } from "../../session";
import { percent, words } from "../../words";
import { metricWords } from "../../words/metrics";
import { showRefusal } from "../flags/actions";

const scope = "experiment:write";
const shareOf = (x: Holdout) => x.filters[0]?.rollout_percentage ?? 0;

export default function holdoutsPage(): Child {
  const list = pages<Holdout>(() => ({ path: projectPath("experiment_holdouts/"), query: { limit: 50 } }));
  const changed = (said: string) => {
    ["experiment_holdouts", "experiments", "feature_flags"].forEach(invalidate);
    list.reload();
    announce(said);
  };
  const edit = async (was: Holdout | null) => {
    if (await ask(was)) changed(was ? words.saved : metricWords.made);
  };
  const remove = async (x: Holdout) => {
    if (!(await confirm(words.deleteAsk(x.name), metricWords.deleteHoldoutText, words.delete))) return;
    await send("DELETE", projectPath(`experiment_holdouts/${x.id}/`));
    changed(words.deleted(x.name));
  };
  return [
    heading(metricWords.holdouts, button(metricWords.newHoldout, { kind: "primary", scope, run: () => edit(null) })),
    h("p", { class: "meta gap" }, metricWords.holdoutText),
    listOf(list, () => noneOf([], metricWords.noHoldouts, metricWords.noHoldouts, metricWords.holdoutText), (rows) =>
      recordTable<Holdout>(
        metricWords.holdouts,
        [
          { label: metricWords.holdoutName, cell: (x) => h("bdi", null, () => x().name) },
          { label: metricWords.heldOut, cell: (x) => () => percent(shareOf(x())), class: "number" },
          { label: metricWords.description, cell: (x) => () => x().description || words.dash, class: "long" },
          {
            label: "",
            cell: (x) => [
              button(metricWords.changeHoldout(x.peek().name), { kind: "small", scope, run: () => edit(x.peek()) }),
              button(metricWords.deleteHoldout(x.peek().name), { kind: "small danger", scope, run: () => remove(x.peek()).catch(showRefusal) }),
            ],
            class: "tight",
          },
        ],
        rows,
        (x) => x.id,
      ),
    ),
  ];
}

/** Opens the dialog of a holdout and stores it. It returns whether it was stored. */
async function ask(was: Holdout | null): Promise<boolean> {
  const faults = { name: signal<string | undefined>(undefined), share: signal<string | undefined>(undefined), other: signal("") };
  const name: HTMLInputElement = h("input", { type: "text", maxlength: 400, value: was?.name ?? "" });
  const description: HTMLInputElement = h("input", { type: "text", maxlength: 400, value: was?.description ?? "" });
  const share: HTMLInputElement = h("input", { type: "number", min: 0, max: 100, step: "any", value: was ? String(shareOf(was)) : "10" });
  const title = was ? metricWords.changeHoldout(was.name) : metricWords.newHoldout;
  const done = await dialog<boolean>({ title }, (d) => {
    const run = async () => {
      const n = Number(share.value);
      faults.name.set(name.value.trim() ? undefined : metricWords.holdoutNameWanted);
      faults.share.set(share.value !== "" && n >= 0 && n <= 100 ? undefined : metricWords.holdoutShareWanted);
      if (faults.name.peek()) return name.focus();
      if (faults.share.peek()) return share.focus();
      const body = { name: name.value.trim(), description: description.value.trim(), filters: [{ properties: [], rollout_percentage: n }] };
      try {
        await (was ? send("PATCH", projectPath(`experiment_holdouts/${was.id}/`), body) : send("POST", projectPath("experiment_holdouts/"), body));
        d.close(true);
      } catch (e) {
        faults.other.set(e instanceof ApiError ? e.detail : String(e));
      }
    };
    return {
      content: [
        faultAlert(faults.other),
        field(name, { label: metricWords.holdoutName, fault: faults.name }),
        field(share, { label: metricWords.holdoutShare, fault: faults.share }),
        field(description, { label: metricWords.description }),
      ],
      buttons: button(words.save, { kind: "primary", run }),
    };
  });
  return done === true;
}
