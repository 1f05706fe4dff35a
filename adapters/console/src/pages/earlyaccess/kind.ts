// What an early access feature has.
import { h } from "../../ui/dom";
import { href } from "../../router";
import { project } from "../../session";
import { w } from "../../words";
import { wq } from "../../words/records";
import type { Kind } from "../records/record";
import type { Record_ } from "../records/form";

export interface Feature extends Record_ {
  stage: string;
  created_at: string;
  documentation_url: string;
  feature_flag: { id: number; key: string } | null;
}

/** A link goes to the web alone. */
const web = (url: string) => /^https?:\/\//i.test(url);

export const feature: Kind<Feature> = {
  path: "early_access_feature/",
  at: "early-access",
  scope: "early_access_feature:write",
  words: { new: wq.newFeature, delete: wq.deleteFeature, deleteText: wq.deleteFeatureText },
  fields: [
    { name: "name", label: wq.name, kind: "text", most: 200 },
    { name: "description", label: w.description, kind: "long" },
    { name: "stage", label: wq.stage, kind: "choice", choices: wq.stages, first: "draft", hint: wq.stageHint },
    { name: "documentation_url", label: wq.documentation, kind: "text", most: 800, hint: wq.documentationHint },
    { name: "feature_flag_id", from: "feature_flag", label: wq.flag, kind: "flag", onlyNew: true, hint: wq.featureFlagHint },
  ],
  notes: (f) =>
    h("p", { class: "meta gap" }, () => [
      f().feature_flag ? [wq.flag, " ", h("a", { class: "code", href: href(`p/${project.peek()}/flags/${f().feature_flag!.id}`) }, f().feature_flag!.key)] : null,
      web(f().documentation_url) ? [" · ", h("a", { href: f().documentation_url, rel: "noreferrer", target: "_blank" }, wq.documentation)] : null,
    ]),
};
