// What a survey has.
import { h } from "../../ui/dom";
import { confirm } from "../../ui/dialog";
import { button } from "../../ui/parts";
import { time } from "../../ui/time";
import { href } from "../../router";
import { project } from "../../session";
import { w } from "../../words";
import { wq } from "../../words/records";
import type { Kind } from "../records/record";
import type { Record_ } from "../records/form";

export interface Survey extends Record_ {
  type: string;
  start_date: string | null;
  end_date: string | null;
  archived: boolean;
  created_at: string;
}

export const stateOf = (s: Survey) => (s.archived ? "archived" : !s.start_date ? "draft" : s.end_date ? "complete" : "running");

const rest = ["responses_limit", "iteration_count", "iteration_frequency_days", "response_sampling_start_date", "response_sampling_interval_type", "response_sampling_interval", "response_sampling_limit", "response_sampling_daily_limits", "enable_partial_responses"];

const now = () => new Date().toISOString();

export const survey: Kind<Survey> = {
  path: "surveys/",
  at: "surveys",
  scope: "survey:write",
  words: { new: wq.newSurvey, delete: wq.deleteSurvey, deleteText: wq.deleteSurveyText },
  fields: [
    { name: "name", label: wq.name, kind: "text", most: 400 },
    { name: "description", label: w.description, kind: "long" },
    { name: "type", label: wq.type, kind: "choice", choices: wq.types, first: "popover" },
    { name: "schedule", label: wq.schedule, kind: "choice", choices: wq.schedules, first: "once" },
    { name: "linked_flag_id", from: "linked_flag", label: wq.linkedFlag, kind: "flag", hint: wq.linkedFlagHint },
    { name: "questions", label: wq.questions, kind: "json", hint: wq.questionsHint, first: '[{"type": "open", "question": ""}]' },
    { name: "conditions", label: wq.conditions, kind: "json", hint: wq.conditionsHint },
    { name: "appearance", label: wq.appearance, kind: "json" },
    { name: "more", label: wq.rest, kind: "rest", members: rest, hint: wq.restHint },
  ],
  actions: (s, put) => () => {
    const { name } = s();
    const ask = async (title: string, text: string, action: string, body: () => object, said: string) => {
      if (await confirm(title, text, action, "primary", false)) await put(body(), said);
    };
    if (stateOf(s()) === "draft") return button(wq.launch, { scope: survey.scope, run: () => ask(wq.launchAsk(name), wq.launchText, wq.launch, () => ({ start_date: now() }), wq.launched) });
    if (stateOf(s()) === "running") return button(wq.stop, { scope: survey.scope, run: () => ask(wq.stopAsk(name), wq.stopText, wq.stop, () => ({ end_date: now() }), wq.stopped) });
    return stateOf(s()) === "complete" ? button(wq.resume, { scope: survey.scope, run: () => put({ end_date: null }, wq.resumed) }) : null;
  },
  notes: (s) =>
    h("p", { class: "meta gap" }, () => [wq.states[stateOf(s())], " ", time(s().end_date ?? s().start_date), " · ", h("a", { href: href(`p/${project.peek()}/events`, { event: "survey sent", property: `$survey_id=${s().id}` }) }, wq.answers)]),
};
