// The list of early access features.
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
import { feature, type Feature } from "./kind";

export default function featuresPage(): Child {
  const list = pages<Feature>(() => ({ path: projectPath(feature.path), query: { limit: 50 } }));
  return [
    heading(words.earlyAccess, button(recordWords.newFeature, { kind: "primary", scope: feature.scope, run: () => go(`p/${project.peek()}/early-access/new`) })),
    listOf(list, () => empty(recordWords.noFeatures, recordWords.noFeaturesText), (rows) =>
      recordTable<Feature>(
        words.earlyAccess,
        [
          { label: recordWords.name, cell: (f) => h("bdi", null, h("a", { href: () => href(`p/${project()}/early-access/${f().id}`) }, () => f().name)) },
          { label: recordWords.stage, cell: (f) => () => recordWords.stages[f().stage] ?? f().stage },
          { label: recordWords.flag, cell: (f) => h("bdi", null, () => f().feature_flag?.key ?? words.dash), class: "code clip-cell" },
          { label: recordWords.made, cell: (f) => () => time(f().created_at), class: "meta" },
        ],
        rows,
        (f) => f.id,
      ),
    ),
  ];
}
