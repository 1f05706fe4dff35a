// The tab Code of a flag: snippets, and the first call that arrives.
import { h, onEnd, signal, type Child, type Signal } from "../../ui/dom";
import { announce } from "../../ui/announce";
import { button, copyText, field, select, showResource } from "../../ui/parts";
import { resource } from "../../api/cache";
import { get, site } from "../../api/client";
import { exposureEvents } from "../../api/events";
import type { Flag } from "../../api/flags";
import { param, setParams } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { words } from "../../words";
import { flagPage } from "./frame";
import { snippets } from "./snippets";

interface Event {
  distinct_id: string;
  properties: Record<string, unknown>;
}

const every = 1500;

export default function codePage(params: Params): Child {
  return flagPage(params, "code", (flag) => code(flag));
}

function code(flag: Signal<Flag>): Child {
  const about = resource<{ api_token: string; snippet_defaults: { language: string; host: string } | null }>(() => ({ path: `projects/${project()}/` }));
  const defaults = () => about.data()?.snippet_defaults;
  const language = () => [param("language"), defaults()?.language ?? ""].find((l) => l in snippets) ?? "JavaScript";
  const text = () => snippets[language()]!({ key: flag().key, host: defaults()?.host || site(), token: about.data()?.api_token ?? "" });
  return [
    h("h2", { class: "gap" }, words.code),
    h("div", { class: "filters" }, field(select(language, () => Object.keys(snippets).map((l) => [l, l] as const), (v) => setParams({ language: v })), { label: words.language })),
    showResource(about, () =>
      h("section", { "aria-label": words.snippet, class: "stack" }, h("pre", { class: "snippet", tabindex: 0 }, h("code", null, text)), h("div", null, button(words.copy, { icon: "copy", run: () => copyText(text()).then(() => announce(words.copied)) }))),
    ),
    firstCall(flag),
  ];
}

/** Returns the region First call, which polls until a call has arrived. */
function firstCall(flag: Signal<Flag>): HTMLElement {
  const call = signal<Event | null>(null);
  let timer = 0;
  const cancel = new AbortController();
  const poll = async () => {
    const properties = JSON.stringify([{ key: "$feature_flag", value: flag.peek().key, operator: "exact", type: "event" }]);
    for (const event of exposureEvents) {
      const got = await get<{ results: Event[] }>(projectPath("events/"), { event, properties, limit: 1 }, cancel.signal).catch(() => null);
      if (cancel.signal.aborted) return;
      if (got?.results[0]) return call.set(got.results[0]);
    }
    timer = setTimeout(() => void poll(), document.hidden ? every * 4 : every);
  };
  void poll();
  onEnd(() => (clearTimeout(timer), cancel.abort()));
  return h("section", { class: "card gap-above", "aria-label": words.firstCall }, h("h3", null, words.firstCall), h("p", { role: "status" }, () => (call() ? words.firstCallIs(call()!.distinct_id, String(call()!.properties.$feature_flag_response ?? "")) : words.waitingCall)));
}
