// The list of surveys.
import { h, type Child } from "../../ui/dom";
import { button, empty, heading } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { recordTable } from "../../ui/table";
import { time } from "../../ui/time";
import { go, href } from "../../router";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { recordWords } from "../../words/records";
import { stateOf, surveysPath, type Survey } from "./about";

export default function surveysPage(): Child {
  const list = pages<Survey>(() => ({ path: projectPath(surveysPath), query: { limit: 50 } }));
  return [
    heading(words.surveys, button(recordWords.newSurvey, { kind: "primary", scope: "survey:write", run: () => go(`p/${project.peek()}/surveys/new`) })),
    listOf(list, () => empty(recordWords.noSurveys, recordWords.noSurveysText), (rows) =>
      recordTable<Survey>(
        words.surveys,
        [
          { label: recordWords.name, cell: (s) => h("bdi", null, h("a", { href: () => href(`p/${project()}/surveys/${s().id}`) }, () => s().name)) },
          { label: recordWords.state, cell: (s) => () => recordWords.states[stateOf(s())] },
          { label: recordWords.type, cell: (s) => () => recordWords.types[s().type] ?? s().type },
          { label: recordWords.made, cell: (s) => () => time(s().created_at), class: "meta" },
        ],
        rows,
        (s) => s.id,
      ),
    ),
  ];
}
