// The fields of a survey.
import { h } from "../../ui/dom";
import { confirm } from "../../ui/dialog";
import { button } from "../../ui/parts";
import { time } from "../../ui/time";
import { projectPath } from "../../session";
import { words } from "../../words";
import { recordWords } from "../../words/records";
import { surveyWords } from "../../words/surveys";
import { openAccess } from "../access/open";
import type { Kind } from "../records/record";
import { surveysPath, stateOf, tabsOf, type Survey } from "./about";
import { peopleControl, readTargeting, whereControl, writeTargeting } from "./conditions";
import { questionsBody, questionsControl } from "./questions";

const rest = ["responses_limit", "iteration_count", "iteration_frequency_days", "response_sampling_start_date", "response_sampling_interval_type", "response_sampling_interval", "response_sampling_limit", "response_sampling_daily_limits", "enable_partial_responses"];

const now = () => new Date().toISOString();

export const survey: Kind<Survey> = {
  path: surveysPath,
  at: "surveys",
  scope: "survey:write",
  texts: { list: words.surveys, new: recordWords.newSurvey, delete: recordWords.deleteSurvey, deleteText: recordWords.deleteSurveyText },
  fields: [
    { name: "name", label: recordWords.name, kind: "text", maxLength: 400 },
    { name: "description", label: words.description, kind: "long" },
    { name: "type", label: recordWords.type, kind: "choice", choices: recordWords.types, first: "popover" },
    { name: "schedule", label: recordWords.schedule, kind: "choice", choices: recordWords.schedules, first: "once" },
    { name: "linked_flag_id", from: "linked_flag", label: recordWords.linkedFlag, kind: "flag", hint: recordWords.linkedFlagHint },
    { name: "questions", label: surveyWords.questions, kind: "custom", control: questionsControl, write: questionsBody, first: '[{"type": "open", "question": ""}]' },
    { name: "conditions", label: surveyWords.where, kind: "custom", control: whereControl },
    { name: "targeting_flag_filters", label: surveyWords.people, kind: "custom", control: peopleControl, read: readTargeting, write: writeTargeting },
    { name: "appearance", label: recordWords.appearance, kind: "json" },
    { name: "more", label: recordWords.rest, kind: "rest", members: rest, hint: recordWords.restHint },
  ],
  actions: (s, put) => [button(words.access, { run: () => openAccess(s.peek().name, projectPath(`surveys/${s.peek().id}/`)) }), () => lifeButton(s(), put)],
  notes: (s) => [tabsOf(s.peek().id, ""), h("p", { class: "meta gap" }, () => [recordWords.states[stateOf(s())], " ", time(s().end_date ?? s().start_date)])],
};

type Put = (body: object, said: string) => Promise<void>;

/** Returns the button that launches, stops or resumes a survey. */
function lifeButton(s: Survey, put: Put): HTMLElement | null {
  const { name } = s;
  const ask = async (title: string, text: string, action: string, body: () => object, said: string) => {
    if (await confirm(title, text, action, "primary", false)) await put(body(), said);
  };
  if (stateOf(s) === "draft") return button(recordWords.launch, { scope: survey.scope, run: () => ask(recordWords.launchAsk(name), recordWords.launchText, recordWords.launch, () => ({ start_date: now() }), recordWords.launched) });
  if (stateOf(s) === "running") return button(recordWords.stop, { scope: survey.scope, run: () => ask(recordWords.stopAsk(name), recordWords.stopText, recordWords.stop, () => ({ end_date: now() }), recordWords.stopped) });
  return stateOf(s) === "complete" ? button(recordWords.resume, { scope: survey.scope, run: () => put({ end_date: null }, recordWords.resumed) }) : null;
}
