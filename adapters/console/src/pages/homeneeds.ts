// The list Needs you on Home: approvals, stale flags, failing exports, warnings, and limits that are
// nearly reached. Each is loaded, and can fail, independently.
import { computed, each, h, when, type Child, type Signal } from "../ui/dom";
import { resource } from "../api/cache";
import type { ChangeRequest } from "../api/approvals";
import { href } from "../router";
import { projectPath, hasScope, project, session } from "../session";
import { percent, words } from "../words";
import { approvalWords } from "../words/approvals";
import { homeWords } from "../words/home";

type Used = { usage: number; todays_usage: number; limit: number | null };

const nearLimit = 0.8; // share of a limit

interface Need {
  path: string;
  text: string;
  more: string;
}

/** Loads a path if the session has the scope. */
const resourceWithScope = <T>(scope: string, path: () => string, query: Record<string, string | number> = {}) => resource<T>(() => (hasScope(scope) ? { path: path(), query } : null));

export function needs(): Child {
  const requests = resourceWithScope<{ results: ChangeRequest[]; next: string | null }>("feature_flag:read", () => projectPath("change_requests/"), { state: "open", limit: 20 });
  const stale = resourceWithScope<{ count: number }>("feature_flag:read", () => projectPath("feature_flags/"), { view: "list", status: "stale", limit: 1 });
  const exports = resourceWithScope<{ results: { id: string; name: string; paused: boolean; latest_runs: { status: string }[] }[]; next: string | null }>("batch_export:read", () => projectPath("batch_exports/"), { limit: 50 });
  const warnings = resourceWithScope<{ results: unknown[]; next: string | null }>("project:read", () => projectPath("ingestion_warnings/"), { limit: 20 });
  const usage = resourceWithScope<Record<string, Used>>("organization:read", () => "organizations/@current/usage/");
  const row = (n: Signal<Need>) => h("li", null, h("a", { href: () => href(n().path) }, h("bdi", null, () => n().text)), h("span", { class: "space" }), h("span", { class: "meta" }, h("bdi", null, () => n().more)));
  const at = (path: string) => `p/${project()}/${path}`;
  const list = computed(() => {
    const out: Need[] = [];
    const add = (path: string, text: string, more = "") => out.push({ path, text, more });
    for (const r of requests.data()?.results ?? []) {
      if ([r.author, ...r.editors].includes(session()?.user.email ?? "")) continue;
      add(at(`approvals/${r.id}`), approvalWords.named(r.flag_key, r.title || approvalWords.untitled(r.id)), r.author ?? approvalWords.somebody);
    }
    if (requests.data()?.next) add(at("approvals"), homeWords.moreApprovals);
    if (stale.data()?.count) add(`${at("flags")}?status=stale`, words.staleFlags(stale.data()!.count));
    for (const e of exports.data()?.results ?? []) {
      if (!e.paused && e.latest_runs[0]?.status.startsWith("Failed")) add(at(`exports/${e.id}`), homeWords.exportFails(e.name));
    }
    if (exports.data()?.next) add(at("exports"), homeWords.moreExports(exports.data()!.results.length));
    const dropped = warnings.data();
    if (dropped?.results.length) add(at("warnings"), homeWords.dropped(dropped.results.length, dropped.next !== null));
    for (const [name, u] of Object.entries(usage.data() ?? {})) {
      const share = u && u.limit ? (u.usage + u.todays_usage) / u.limit : 0;
      if (share >= nearLimit) add(`organization/usage?resource=${name}`, homeWords.nearLimit(words.resources[name] ?? name), percent(Math.floor(share * 100)));
    }
    return out;
  });
  return when(() => list().length > 0, () => h("section", { class: "card" }, h("h2", { id: "needs-you" }, words.needsYou), h("ul", { class: "rows", "aria-labelledby": "needs-you" }, each(list, (n) => n.path, row))));
}
