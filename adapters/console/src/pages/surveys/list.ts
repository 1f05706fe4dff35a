// Surveys.
import { h, type Child } from "../../ui/dom";
import { button, empty, heading } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { records } from "../../ui/table";
import { time } from "../../ui/time";
import { go, href } from "../../router";
import { inProject, project } from "../../session";
import { w } from "../../words";
import { wq } from "../../words/records";
import { stateOf, survey, type Survey } from "./kind";

export default function surveysPage(): Child {
  const list = pages<Survey>(() => ({ path: inProject(survey.path), query: { limit: 50 } }));
  return [
    heading(w.surveys, button(wq.newSurvey, { kind: "primary", scope: survey.scope, run: () => go(`p/${project.peek()}/surveys/new`) })),
    listOf(list, () => empty(wq.noSurveys, wq.noSurveysText), (rows) =>
      records<Survey>(
        w.surveys,
        [
          { label: wq.name, cell: (s) => h("bdi", null, h("a", { href: () => href(`p/${project()}/surveys/${s().id}`) }, () => s().name)) },
          { label: wq.state, cell: (s) => () => wq.states[stateOf(s())] },
          { label: wq.type, cell: (s) => () => wq.types[s().type] ?? s().type },
          { label: wq.made, cell: (s) => () => time(s().created_at), class: "meta" },
        ],
        rows,
        (s) => s.id,
      ),
    ),
  ];
}
