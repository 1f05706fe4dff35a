// Early access features.
import { h, type Child } from "../../ui/dom";
import { button, empty, heading } from "../../ui/parts";
import { listOf } from "../../ui/list";
import { pages } from "../../ui/pages";
import { records } from "../../ui/table";
import { time } from "../../ui/time";
import { go, href } from "../../router";
import { inProject, project } from "../../session";
import { words } from "../../words";
import { recordWords } from "../../words/records";
import { feature, type Feature } from "./kind";

export default function featuresPage(): Child {
  const list = pages<Feature>(() => ({ path: inProject(feature.path), query: { limit: 50 } }));
  return [
    heading(words.earlyAccess, button(recordWords.newFeature, { kind: "primary", scope: feature.scope, run: () => go(`p/${project.peek()}/early-access/new`) })),
    listOf(list, () => empty(recordWords.noFeatures, recordWords.noFeaturesText), (rows) =>
      records<Feature>(
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
