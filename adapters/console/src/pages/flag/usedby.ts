// The region Used by of a flag: the flags, experiments, surveys and features that use it.
import { h, signal, type Child } from "../../ui/dom";
import { get } from "../../api/client";
import type { Flag } from "../../api/flags";
import { href } from "../../router";
import { hasScope, project, projectPath } from "../../session";
import { words } from "../../words";

interface Use {
  id: number | string;
  name: string;
}

const maxListed = 100;

/** Returns what uses a flag. Each group of the list loads by itself. */
export function usedBy(flag: Flag): Child {
  const group = (label: string, at: string, uses: () => Use[] | null) => () => {
    const list = uses();
    if (!list?.length) return null;
    return h("div", null, h("h4", null, label), h("ul", { "aria-label": label }, list.map((u) => h("li", null, h("a", { href: href(`p/${project.peek()}/${at}/${u.id}`) }, h("bdi", null, u.name))))));
  };
  const flags = signal<Use[] | null>(null);
  get<{ id: number; key: string }[]>(projectPath(`feature_flags/${flag.id}/dependents/`)).then((list) => flags.set(list.map((f) => ({ id: f.id, name: f.key }))), () => flags.set([]));
  const experiments = signal<Use[] | null>(flag.experiment_set.length ? null : []);
  const numbered = () => experiments.set(flag.experiment_set.map((id) => ({ id, name: words.numbered(words.experiment, id) }))); // without the right to read their names
  if (flag.experiment_set.length) {
    if (!hasScope("experiment:read")) numbered();
    else get<{ results: Use[] }>(projectPath("experiments/"), { feature_flag_id: flag.id, limit: maxListed }).then((list) => experiments.set(list.results), numbered);
  }
  const isUnused = () => flags()?.length === 0 && experiments()?.length === 0 && !flag.surveys.length && !flag.features.length;
  return h(
    "section",
    { class: "effect", "aria-label": words.usedBy },
    h("h3", null, words.usedBy),
    group(words.flags, "flags", flags),
    group(words.experiments, "experiments", experiments),
    group(words.surveys, "surveys", () => flag.surveys),
    group(words.earlyAccess, "early-access", () => flag.features),
    () => (isUnused() ? h("p", { class: "meta" }, words.usedByNone) : null),
  );
}
