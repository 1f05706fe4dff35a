// The frame of an experiment's tabs: its status and its actions.
import { h, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { confirm, dialog } from "../../ui/dialog";
import { moreMenu } from "../../ui/menu";
import { button, field } from "../../ui/parts";
import { loadRecord, recordPage, tabLinks } from "../../ui/record";
import { relativeTime } from "../../ui/time";
import { invalidate } from "../../api/cache";
import { get, send } from "../../api/client";
import { variantsOfExperiment, type Experiment } from "../../api/experiments";
import { go, href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, hasScope, project } from "../../session";
import { words } from "../../words";
import { experimentWords } from "../../words/experiments";
import { openAccess } from "../access/open";
import { showRefusal } from "../flags/actions";

const scope = "experiment:write";

const tabs: [string, string][] = [
  ["", experimentWords.results],
  ["exposures", experimentWords.exposures],
  ["setup", experimentWords.setup],
];

/** Loads an experiment and shows a tab below its frame. */
export function experimentPage(params: Params, tab: string, show: (e: Signal<Experiment>) => Child): Child {
  const at = `p/${project.peek()}/experiments/${params.id}`;
  return recordPage<Experiment>({
    record: loadRecord(() => get<Experiment>(projectPath(`experiments/${params.id}/`))),
    title: (e) => e.name,
    list: { label: words.experiments, path: "experiments" },
    actions: (e) => () => e() && tools(e),
    facts: (e) => h("p", { class: "meta gap" }, () => summary(e()), " · ", () => (e().feature_flag ? h("a", { class: "code", href: href(`p/${project.peek()}/flags/${e().feature_flag!.id}`) }, e().feature_flag_key) : e().feature_flag_key)),
    tabs: tabLinks(experimentWords.experiment, tabs, at, tab),
    show,
  });
}

function summary(e: Experiment): string {
  const state = e.archived ? words.archived : (experimentWords.status[e.status] ?? e.status);
  if (e.end_date) return `${state}, ${experimentWords.ended(relativeTime(e.end_date))}`;
  return e.start_date ? `${state}, ${experimentWords.runningSince(relativeTime(e.start_date))}` : state;
}

function tools(experiment: Signal<Experiment>): Child {
  const e = experiment.peek();
  const path = projectPath(`experiments/${e.id}/`);
  const call = async (name: string, said: string, body: object = {}) => {
    experiment.set(await send<Experiment>("POST", path + name + "/", body));
    ["experiments", "feature_flags"].forEach(invalidate);
    document.querySelector<HTMLElement>("h1")?.focus();
    announce(said);
  };
  const confirmThen = async (title: string, text: string, action: string, kind: "primary" | "danger", then: () => Promise<void>) => {
    if (await confirm(title, text, action, kind, false)) await then();
  };
  const launch = () => confirmThen(experimentWords.launchAsk(e.name), experimentWords.launchText(e.feature_flag_key), experimentWords.launch, "primary", () => call("launch", experimentWords.launched));
  const archive = () => confirmThen(experimentWords.archiveAsk(e.name), experimentWords.archiveText, words.archive, "danger", () => call("archive", experimentWords.archived(e.name)));
  const freeze = () => confirmThen(experimentWords.freezeAsk(e.name), experimentWords.freezeText(e.feature_flag_key), experimentWords.freeze, "primary", () => call("freeze_exposure", experimentWords.frozen));
  const makeCohort = async () => {
    const { cohort } = await send<{ cohort: { id: number } }>("POST", path + "create_exposure_cohort_for_experiment/", {});
    invalidate("cohorts");
    await go(`p/${project.peek()}/cohorts/${cohort.id}`);
    announce(experimentWords.cohortMade);
  };
  const stop = async () => {
    const variant = await askStop(e);
    if (variant === undefined) return;
    await (variant ? call("ship_variant", experimentWords.stopped, { variant_key: variant, release_to_everyone: true }) : call("end", experimentWords.stopped));
  };
  const remove = async () => {
    if (!(await confirm(words.deleteAsk(e.name), experimentWords.deleteText, words.delete))) return;
    await send("PATCH", path, { deleted: true });
    invalidate("experiments");
    const at = `p/${project.peek()}/experiments`;
    await go(at);
    announce(words.deleted(e.name), { label: words.undo, run: () => void send("PATCH", path, { deleted: false }).then(() => go(`${at}/${e.id}`), showRefusal) });
  };
  const disabledReason = hasScope(scope) ? null : words.needs(scope);
  const running = ["running", "paused", "exposure_frozen"].includes(e.status);
  return [
    e.status === "draft" ? button(experimentWords.launch, { kind: "primary", scope, run: () => launch().catch(showRefusal) }) : null,
    running ? button(experimentWords.stop, { kind: "danger", scope, run: () => stop().catch(showRefusal) }) : null,
    e.status === "stopped" && !e.archived ? button(words.archive, { scope, run: () => archive().catch(showRefusal) }) : null,
    moreMenu(() => words.moreAbout(e.name), () => [
      { label: experimentWords.pause, available: e.status === "running", disabled: disabledReason, run: () => void call("pause", experimentWords.paused).catch(showRefusal) },
      { label: experimentWords.resume, available: e.status === "paused", disabled: disabledReason, run: () => void call("resume", experimentWords.resumed).catch(showRefusal) },
      { label: experimentWords.freeze, available: e.status === "running", disabled: disabledReason, run: () => void freeze().catch(showRefusal) },
      { label: experimentWords.unfreeze, available: e.status === "exposure_frozen", disabled: disabledReason, run: () => void call("unfreeze_exposure", experimentWords.unfrozen).catch(showRefusal) },
      { label: experimentWords.makeCohort, available: e.status !== "draft" && e.exposure_cohort === null, disabled: disabledReason, run: () => void makeCohort().catch(showRefusal) },
      { label: experimentWords.exposureCohort, available: e.exposure_cohort !== null, run: () => void go(`p/${project.peek()}/cohorts/${e.exposure_cohort}`) },
      { label: experimentWords.unarchive, available: e.archived, disabled: disabledReason, run: () => void call("unarchive", words.saved).catch(showRefusal) },
      { label: words.access, run: () => void openAccess(e.name, path) },
      { label: words.delete, disabled: disabledReason, danger: true, line: true, run: () => void remove().catch(showRefusal) },
    ]),
  ];
}

/** Asks how to stop. It returns the variant for everyone, "" to keep the flag as it is, or undefined after Cancel. */
function askStop(e: Experiment): Promise<string | undefined> {
  const variants = variantsOfExperiment(e);
  const box = h("select", { "data-first": "" }, h("option", { value: "" }, experimentWords.keepFlag), variants.map((v) => h("option", { value: v.key }, experimentWords.ship(v.key))));
  return dialog<string>({ title: experimentWords.stopAsk(e.name) }, (d) => ({
    content: [h("p", null, experimentWords.stopText(e.feature_flag_key)), field(box, { label: experimentWords.afterwards })],
    buttons: h("button", { type: "button", class: "button danger", onclick: () => d.close(box.value) }, experimentWords.stop),
  }));
}
