// The fields of an early access feature.
import { h } from "../../ui/dom";
import { href } from "../../router";
import { project } from "../../session";
import { words } from "../../words";
import { recordWords } from "../../words/records";
import type { Kind } from "../records/record";
import type { Record_ } from "../records/form";

export interface Feature extends Record_ {
  stage: string;
  created_at: string;
  documentation_url: string;
  feature_flag: { id: number; key: string } | null;
}

/** Reports whether a URL is http or https, since other URLs are not shown as links. */
const web = (url: string) => /^https?:\/\//i.test(url);

export const feature: Kind<Feature> = {
  path: "early_access_feature/",
  at: "early-access",
  scope: "early_access_feature:write",
  texts: { list: words.earlyAccess, new: recordWords.newFeature, delete: recordWords.deleteFeature, deleteText: recordWords.deleteFeatureText },
  fields: [
    { name: "name", label: recordWords.name, kind: "text", maxLength: 200 },
    { name: "description", label: words.description, kind: "long" },
    { name: "stage", label: recordWords.stage, kind: "choice", choices: recordWords.stages, first: "draft", hint: recordWords.stageHint },
    { name: "documentation_url", label: recordWords.documentation, kind: "text", maxLength: 800, hint: recordWords.documentationHint },
    { name: "feature_flag_id", from: "feature_flag", label: recordWords.flag, kind: "flag", onlyNew: true, hint: recordWords.featureFlagHint },
  ],
  notes: (f) =>
    h("p", { class: "meta gap" }, () => [
      f().feature_flag ? [recordWords.flag, " ", h("a", { class: "code", href: href(`p/${project.peek()}/flags/${f().feature_flag!.id}`) }, f().feature_flag!.key)] : null,
      web(f().documentation_url) ? [" · ", h("a", { href: f().documentation_url, rel: "noreferrer", target: "_blank" }, recordWords.documentation)] : null,
    ]),
};
