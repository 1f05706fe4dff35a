// The table of pages. A new one is a file in pages and a row here.
import type { Child } from "./ui/dom";
import type { Icon } from "./ui/icons";
import { w } from "./words";
import { wc } from "./words/connect";
import { wh } from "./words/health";
import { wo } from "./words/organization";

export type Params = Record<string, string>;
export type Page = (params: Params) => Child;

export interface Route {
  /** Path below the console; a part that begins with a colon is a parameter. */
  path: string;
  title: string;
  page: () => Promise<{ default: Page }>;
  /** Its words in the navigation, and the picture there. */
  nav?: string;
  icon?: Icon;
  /** The entry of the navigation that it belongs to. */
  within?: string;
  /** What a caller needs to see it. */
  scope?: string;
  /** Shown without a session. */
  open?: boolean;
  /** Without banner and navigation. */
  bare?: boolean;
}

export const routes: Route[] = [
  { path: "sign-in", title: w.signIn, page: () => import("./pages/signin"), open: true, bare: true },
  { path: "not-found", title: w.notFound, page: () => import("./pages/notfound") },
  { path: "p/:project", title: w.home, page: () => import("./pages/home"), nav: w.home, icon: "home" },
  { path: "p/:project/flags", title: w.flags, page: () => import("./pages/flags/list"), nav: w.flags, icon: "flag", scope: "feature_flag:read" },
  { path: "p/:project/flags/new", title: w.newFlag, page: () => import("./pages/flag/new"), within: w.flags },
  { path: "p/:project/flags/:id", title: w.flag, page: () => import("./pages/flag/edit"), within: w.flags },
  { path: "p/:project/flags/:id/exposures", title: w.tabs.exposures, page: () => import("./pages/flag/exposures"), within: w.flags },
  { path: "p/:project/flags/:id/people", title: w.tabs.people, page: () => import("./pages/flag/people"), within: w.flags },
  { path: "p/:project/flags/:id/schedule", title: w.tabs.schedule, page: () => import("./pages/flag/schedule"), within: w.flags },
  { path: "p/:project/flags/:id/history", title: w.tabs.history, page: () => import("./pages/flag/history"), within: w.flags },
  { path: "p/:project/flags/:id/code", title: w.code, page: () => import("./pages/flag/code"), within: w.flags },
  { path: "p/:project/why", title: w.why, page: () => import("./pages/why/why"), nav: w.why, icon: "why", scope: "feature_flag:read" },
  { path: "connect", title: wc.title, page: () => import("./pages/connect") },
  { path: "account", title: w.account, page: () => import("./pages/account") },
  { path: "p/:project/experiments", title: w.experiments, page: () => import("./pages/experiments/list"), nav: w.experiments, icon: "flask", scope: "experiment:read" },
  { path: "p/:project/experiments/new", title: w.experiments, page: () => import("./pages/experiments/new"), within: w.experiments },
  { path: "p/:project/experiments/:id", title: w.experiments, page: () => import("./pages/experiments/results"), within: w.experiments },
  { path: "p/:project/experiments/:id/exposures", title: w.experiments, page: () => import("./pages/experiments/exposures"), within: w.experiments },
  { path: "p/:project/experiments/:id/setup", title: w.experiments, page: () => import("./pages/experiments/setup"), within: w.experiments },
  { path: "p/:project/cohorts", title: w.cohorts, page: () => import("./pages/cohorts/list"), nav: w.cohorts, icon: "cohort", scope: "cohort:read" },
  { path: "p/:project/cohorts/new", title: w.cohorts, page: () => import("./pages/cohorts/new"), within: w.cohorts },
  { path: "p/:project/cohorts/:id", title: w.cohorts, page: () => import("./pages/cohorts/cohort"), within: w.cohorts },
  { path: "p/:project/people", title: w.people, page: () => import("./pages/people/list"), nav: w.people, icon: "people", scope: "person:read" },
  { path: "p/:project/people/:uuid", title: w.person, page: () => import("./pages/people/timeline"), within: w.people },
  { path: "p/:project/people/:uuid/flags", title: w.flags, page: () => import("./pages/people/flags"), within: w.people },
  { path: "p/:project/people/:uuid/cohorts", title: w.cohorts, page: () => import("./pages/people/cohorts"), within: w.people },
  { path: "p/:project/people/:uuid/properties", title: w.person, page: () => import("./pages/people/properties"), within: w.people },
  { path: "p/:project/groups", title: w.groups, page: () => import("./pages/groups/list"), nav: w.groups, icon: "group", scope: "group:read" },
  { path: "p/:project/groups/:type/:key", title: w.groups, page: () => import("./pages/groups/group"), within: w.groups },
  { path: "p/:project/events", title: w.events, page: () => import("./pages/events/list"), nav: w.events, icon: "list", scope: "query:read" },
  { path: "p/:project/live", title: w.live, page: () => import("./pages/events/live"), nav: w.live, icon: "live", scope: "query:read" },
  { path: "p/:project/insights", title: w.insights, page: () => import("./pages/insights/list"), nav: w.insights, icon: "chart", scope: "insight:read" },
  { path: "p/:project/insights/new", title: w.insights, page: () => import("./pages/insights/edit"), within: w.insights },
  { path: "p/:project/insights/:id", title: w.insights, page: () => import("./pages/insights/edit"), within: w.insights },
  { path: "p/:project/dashboards", title: w.dashboards, page: () => import("./pages/dashboards/list"), nav: w.dashboards, icon: "board", scope: "dashboard:read" },
  { path: "p/:project/dashboards/:id", title: w.dashboards, page: () => import("./pages/dashboards/dashboard"), within: w.dashboards },
  { path: "p/:project/errors", title: w.errors, page: () => import("./pages/errors/list"), nav: w.errors, icon: "error", scope: "error_tracking:read" },
  { path: "p/:project/errors/rules", title: w.errors, page: () => import("./pages/errors/rules"), within: w.errors },
  { path: "p/:project/errors/:id", title: w.errors, page: () => import("./pages/errors/issue"), within: w.errors },
  { path: "p/:project/surveys", title: w.surveys, page: () => import("./pages/surveys/list"), nav: w.surveys, icon: "survey", scope: "survey:read" },
  { path: "p/:project/surveys/new", title: w.surveys, page: () => import("./pages/surveys/new"), within: w.surveys },
  { path: "p/:project/surveys/:id", title: w.surveys, page: () => import("./pages/surveys/survey"), within: w.surveys },
  { path: "p/:project/early-access", title: w.earlyAccess, page: () => import("./pages/earlyaccess/list"), nav: w.earlyAccess, icon: "early", scope: "early_access_feature:read" },
  { path: "p/:project/early-access/new", title: w.earlyAccess, page: () => import("./pages/earlyaccess/new"), within: w.earlyAccess },
  { path: "p/:project/early-access/:id", title: w.earlyAccess, page: () => import("./pages/earlyaccess/feature"), within: w.earlyAccess },
  { path: "p/:project/exports", title: w.exports, page: () => import("./pages/exports/list"), nav: w.exports, icon: "export", scope: "batch_export:read" },
  { path: "p/:project/exports/new", title: w.exports, page: () => import("./pages/exports/new"), within: w.exports },
  { path: "p/:project/exports/:id", title: w.exports, page: () => import("./pages/exports/runs"), within: w.exports },
  { path: "p/:project/exports/:id/backfills", title: w.exports, page: () => import("./pages/exports/backfills"), within: w.exports },
  { path: "p/:project/exports/:id/settings", title: w.exports, page: () => import("./pages/exports/settings"), within: w.exports },
  { path: "p/:project/approvals", title: w.approvals, page: () => import("./pages/approvals/list"), nav: w.approvals, icon: "approve", scope: "feature_flag:read" },
  { path: "p/:project/approvals/:id", title: w.approvals, page: () => import("./pages/approvals/change"), within: w.approvals },
  { path: "p/:project/warnings", title: w.warnings, page: () => import("./pages/warnings"), nav: w.warnings, icon: "bell", scope: "project:read" },
  { path: "p/:project/settings", title: w.settings, page: () => import("./pages/settings/project"), nav: w.settings, icon: "gear", scope: "project:read" },
  { path: "p/:project/activity", title: wo.activity, page: () => import("./pages/activity"), nav: wo.activity, icon: "clock", scope: "activity_log:read" },
  { path: "organization/members", title: wo.members, page: () => import("./pages/organization/members"), nav: wo.members, icon: "people", scope: "organization_member:read" },
  { path: "organization/domains", title: wo.domains, page: () => import("./pages/organization/domains"), nav: wo.domains, icon: "globe", scope: "organization:read" },
  { path: "organization/usage", title: wo.usage, page: () => import("./pages/organization/usage"), nav: wo.usage, icon: "meter", scope: "organization:read" },
  { path: "organization/settings", title: wo.settings, page: () => import("./pages/organization/settings") },
  { path: "organization/health", title: wh.health, page: () => import("./pages/organization/health"), nav: wh.health, icon: "heart", scope: "organization:read" },
];

const patterns = routes.map((route) => ({ route, parts: route.path.split("/") }));

/** Whether there is a page at a path: links to what is not there yet are left out. */
export const there = (path: string): boolean => find(path).route !== undefined;

/** The route of a path, and what its parameters are. */
export function find(path: string): { route: Route | undefined; params: Params } {
  const parts = path.split("/");
  for (const p of patterns) {
    if (p.parts.length !== parts.length) continue;
    const params: Params = {};
    const fits = p.parts.every((want, i) => {
      if (!want.startsWith(":")) return want === parts[i];
      params[want.slice(1)] = decodeURIComponent(parts[i]!);
      return parts[i] !== "";
    });
    if (fits) return { route: p.route, params };
  }
  return { route: undefined, params: {} };
}
