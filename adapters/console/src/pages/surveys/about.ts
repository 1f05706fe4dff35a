// What all pages of surveys need: a survey, its state, and the links between its pages.
import { h } from "../../ui/dom";
import { href } from "../../router";
import { project } from "../../session";
import { surveyWords } from "../../words/surveys";
import type { Record_ } from "../records/form";

/** The path of surveys in the API, below the project. */
export const surveysPath = "surveys/";

export interface Survey extends Record_ {
  type: string;
  start_date: string | null;
  end_date: string | null;
  archived: boolean;
  created_at: string;
}

export const stateOf = (s: Survey) => (s.archived ? "archived" : !s.start_date ? "draft" : s.end_date ? "complete" : "running");

/** Returns the links to the form of a survey and to its answers. */
export function tabsOf(id: string, tab: "" | "answers"): HTMLElement {
  const at = `p/${project.peek()}/surveys/${id}`;
  const link = (to: "" | "answers", text: string) => h("a", { href: href(to ? `${at}/${to}` : at), "aria-current": to === tab ? "page" : null }, text);
  return h("nav", { "aria-label": surveyWords.survey, class: "tabs" }, link("", surveyWords.setup), link("answers", surveyWords.answers));
}
