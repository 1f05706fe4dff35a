// The fields of a survey.
import { h } from "../../ui/dom";
import { confirm } from "../../ui/dialog";
import { button } from "../../ui/parts";
import { time } from "../../ui/time";
import { href } from "../../router";
import { project } from "../../session";
import { words } from "../../words";
import { recordWords } from "../../words/records";
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
  texts: { new: recordWords.newSurvey, delete: recordWords.deleteSurvey, deleteText: recordWords.deleteSurveyText },
  fields: [
    { name: "name", label: recordWords.name, kind: "text", maxLength: 400 },
    { name: "description", label: words.description, kind: "long" },
    { name: "type", label: recordWords.type, kind: "choice", choices: recordWords.types, first: "popover" },
    { name: "schedule", label: recordWords.schedule, kind: "choice", choices: recordWords.schedules, first: "once" },
    { name: "linked_flag_id", from: "linked_flag", label: recordWords.linkedFlag, kind: "flag", hint: recordWords.linkedFlagHint },
    { name: "questions", label: recordWords.questions, kind: "json", hint: recordWords.questionsHint, first: '[{"type": "open", "question": ""}]' },
    { name: "conditions", label: recordWords.conditions, kind: "json", hint: recordWords.conditionsHint },
    { name: "appearance", label: recordWords.appearance, kind: "json" },
    { name: "more", label: recordWords.rest, kind: "rest", members: rest, hint: recordWords.restHint },
  ],
  actions: (s, put) => () => {
    const { name } = s();
    const ask = async (title: string, text: string, action: string, body: () => object, said: string) => {
      if (await confirm(title, text, action, "primary", false)) await put(body(), said);
    };
    if (stateOf(s()) === "draft") return button(recordWords.launch, { scope: survey.scope, run: () => ask(recordWords.launchAsk(name), recordWords.launchText, recordWords.launch, () => ({ start_date: now() }), recordWords.launched) });
    if (stateOf(s()) === "running") return button(recordWords.stop, { scope: survey.scope, run: () => ask(recordWords.stopAsk(name), recordWords.stopText, recordWords.stop, () => ({ end_date: now() }), recordWords.stopped) });
    return stateOf(s()) === "complete" ? button(recordWords.resume, { scope: survey.scope, run: () => put({ end_date: null }, recordWords.resumed) }) : null;
  },
  notes: (s) =>
    h("p", { class: "meta gap" }, () => [recordWords.states[stateOf(s())], " ", time(s().end_date ?? s().start_date), " · ", h("a", { href: href(`p/${project.peek()}/events`, { event: "survey sent", property: `$survey_id=${s().id}` }) }, recordWords.answers)]),
};
