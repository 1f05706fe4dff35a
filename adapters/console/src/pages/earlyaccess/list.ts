// Early access features.
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
import { feature, type Feature } from "./kind";

export default function featuresPage(): Child {
  const list = pages<Feature>(() => ({ path: inProject(feature.path), query: { limit: 50 } }));
  return [
    heading(w.earlyAccess, button(wq.newFeature, { kind: "primary", scope: feature.scope, run: () => go(`p/${project.peek()}/early-access/new`) })),
    listOf(list, () => empty(wq.noFeatures, wq.noFeaturesText), (rows) =>
      records<Feature>(
        w.earlyAccess,
        [
          { label: wq.name, cell: (f) => h("bdi", null, h("a", { href: () => href(`p/${project()}/early-access/${f().id}`) }, () => f().name)) },
          { label: wq.stage, cell: (f) => () => wq.stages[f().stage] ?? f().stage },
          { label: wq.flag, cell: (f) => h("bdi", null, () => f().feature_flag?.key ?? w.dash), class: "code clip-cell" },
          { label: wq.made, cell: (f) => () => time(f().created_at), class: "meta" },
        ],
        rows,
        (f) => f.id,
      ),
    ),
  ];
}
