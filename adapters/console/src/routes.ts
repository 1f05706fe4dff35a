// The table of pages. To add a page, add a file in pages and a row here.
import type { Child } from "./ui/dom";
import type { Icon } from "./ui/icons";
import { words } from "./words";

export type Params = Record<string, string>;
export type Page = (params: Params) => Child;

export interface Route {
  /** Path below the console. A part that begins with a colon is a parameter. */
  path: string;
  title: string;
  page: () => Promise<{ default: Page }>;
  /** The label and the icon in the navigation. */
  nav?: string;
  icon?: Icon;
  /** The label of the navigation link that is current on this page. */
  within?: string;
  /** The scope that is needed to see the page. */
  scope?: string;
  /** Whether the page is shown without a session. */
  open?: boolean;
  /** Whether the page has no banner and navigation. */
  bare?: boolean;
}

export const routes: Route[] = [
  { path: "sign-in", title: words.signIn, page: () => import("./pages/signin"), open: true, bare: true },
  { path: "not-found", title: words.notFound, page: () => import("./pages/notfound") },
  { path: "p/:project", title: words.home, page: () => import("./pages/home"), nav: words.home, icon: "home" },
  { path: "p/:project/flags", title: words.flags, page: () => import("./pages/flags/list"), nav: words.flags, icon: "flag", scope: "feature_flag:read" },
  { path: "p/:project/flags/new", title: words.newFlag, page: () => import("./pages/flag/new"), within: words.flags },
  { path: "p/:project/flags/:id", title: words.flag, page: () => import("./pages/flag/edit"), within: words.flags },
  { path: "p/:project/flags/:id/exposures", title: words.tabs.exposures, page: () => import("./pages/flag/exposures"), within: words.flags },
  { path: "p/:project/flags/:id/people", title: words.tabs.people, page: () => import("./pages/flag/people"), within: words.flags },
  { path: "p/:project/flags/:id/schedule", title: words.tabs.schedule, page: () => import("./pages/flag/schedule"), within: words.flags },
  { path: "p/:project/flags/:id/history", title: words.tabs.history, page: () => import("./pages/flag/history"), within: words.flags },
  { path: "p/:project/flags/:id/code", title: words.code, page: () => import("./pages/flag/code"), within: words.flags },
  { path: "p/:project/why", title: words.why, page: () => import("./pages/why/why"), nav: words.why, icon: "why", scope: "feature_flag:read" },
  { path: "connect", title: words.connectProgram, page: () => import("./pages/connect") },
  { path: "account", title: words.account, page: () => import("./pages/account") },
  { path: "p/:project/experiments", title: words.experiments, page: () => import("./pages/experiments/list"), nav: words.experiments, icon: "flask", scope: "experiment:read" },
  { path: "p/:project/experiments/new", title: words.experiments, page: () => import("./pages/experiments/new"), within: words.experiments },
  { path: "p/:project/experiments/metrics", title: words.experiments, page: () => import("./pages/experiments/sharedlist"), within: words.experiments },
  { path: "p/:project/experiments/metrics/new", title: words.experiments, page: () => import("./pages/experiments/shared"), within: words.experiments },
  { path: "p/:project/experiments/metrics/:id", title: words.experiments, page: () => import("./pages/experiments/shared"), within: words.experiments },
  { path: "p/:project/experiments/holdouts", title: words.experiments, page: () => import("./pages/experiments/holdouts"), within: words.experiments },
  { path: "p/:project/experiments/:id", title: words.experiments, page: () => import("./pages/experiments/results"), within: words.experiments },
  { path: "p/:project/experiments/:id/exposures", title: words.experiments, page: () => import("./pages/experiments/exposures"), within: words.experiments },
  { path: "p/:project/experiments/:id/setup", title: words.experiments, page: () => import("./pages/experiments/setup"), within: words.experiments },
  { path: "p/:project/cohorts", title: words.cohorts, page: () => import("./pages/cohorts/list"), nav: words.cohorts, icon: "cohort", scope: "cohort:read" },
  { path: "p/:project/cohorts/new", title: words.cohorts, page: () => import("./pages/cohorts/new"), within: words.cohorts },
  { path: "p/:project/cohorts/:id", title: words.cohorts, page: () => import("./pages/cohorts/cohort"), within: words.cohorts },
  { path: "p/:project/people", title: words.people, page: () => import("./pages/people/list"), nav: words.people, icon: "people", scope: "person:read" },
  { path: "p/:project/people/:uuid", title: words.person, page: () => import("./pages/people/timeline"), within: words.people },
  { path: "p/:project/people/:uuid/flags", title: words.flags, page: () => import("./pages/people/flags"), within: words.people },
  { path: "p/:project/people/:uuid/cohorts", title: words.cohorts, page: () => import("./pages/people/cohorts"), within: words.people },
  { path: "p/:project/people/:uuid/properties", title: words.person, page: () => import("./pages/people/properties"), within: words.people },
  { path: "p/:project/groups", title: words.groups, page: () => import("./pages/groups/list"), nav: words.groups, icon: "group", scope: "group:read" },
  { path: "p/:project/groups/:type/:key", title: words.groups, page: () => import("./pages/groups/group"), within: words.groups },
  { path: "p/:project/events", title: words.events, page: () => import("./pages/events/list"), nav: words.events, icon: "list", scope: "query:read" },
  { path: "p/:project/live", title: words.live, page: () => import("./pages/events/live"), nav: words.live, icon: "live", scope: "query:read" },
  { path: "p/:project/insights", title: words.insights, page: () => import("./pages/insights/list"), nav: words.insights, icon: "chart", scope: "insight:read" },
  { path: "p/:project/insights/new", title: words.insights, page: () => import("./pages/insights/edit"), within: words.insights },
  { path: "p/:project/insights/:id", title: words.insights, page: () => import("./pages/insights/edit"), within: words.insights },
  { path: "p/:project/dashboards", title: words.dashboards, page: () => import("./pages/dashboards/list"), nav: words.dashboards, icon: "board", scope: "dashboard:read" },
  { path: "p/:project/dashboards/:id", title: words.dashboards, page: () => import("./pages/dashboards/dashboard"), within: words.dashboards },
  { path: "p/:project/errors", title: words.errors, page: () => import("./pages/errors/list"), nav: words.errors, icon: "error", scope: "error_tracking:read" },
  { path: "p/:project/errors/rules", title: words.errors, page: () => import("./pages/errors/rules"), within: words.errors },
  { path: "p/:project/errors/:id", title: words.errors, page: () => import("./pages/errors/issue"), within: words.errors },
  { path: "p/:project/surveys", title: words.surveys, page: () => import("./pages/surveys/list"), nav: words.surveys, icon: "survey", scope: "survey:read" },
  { path: "p/:project/surveys/new", title: words.surveys, page: () => import("./pages/surveys/new"), within: words.surveys },
  { path: "p/:project/surveys/:id", title: words.surveys, page: () => import("./pages/surveys/survey"), within: words.surveys },
  { path: "p/:project/surveys/:id/answers", title: words.surveys, page: () => import("./pages/surveys/answers"), within: words.surveys },
  { path: "p/:project/early-access", title: words.earlyAccess, page: () => import("./pages/earlyaccess/list"), nav: words.earlyAccess, icon: "early", scope: "early_access_feature:read" },
  { path: "p/:project/early-access/new", title: words.earlyAccess, page: () => import("./pages/earlyaccess/new"), within: words.earlyAccess },
  { path: "p/:project/early-access/:id", title: words.earlyAccess, page: () => import("./pages/earlyaccess/feature"), within: words.earlyAccess },
  { path: "p/:project/exports", title: words.exports, page: () => import("./pages/exports/list"), nav: words.exports, icon: "export", scope: "batch_export:read" },
  { path: "p/:project/exports/new", title: words.exports, page: () => import("./pages/exports/new"), within: words.exports },
  { path: "p/:project/exports/:id", title: words.exports, page: () => import("./pages/exports/runs"), within: words.exports },
  { path: "p/:project/exports/:id/backfills", title: words.exports, page: () => import("./pages/exports/backfills"), within: words.exports },
  { path: "p/:project/exports/:id/settings", title: words.exports, page: () => import("./pages/exports/settings"), within: words.exports },
  { path: "p/:project/approvals", title: words.approvals, page: () => import("./pages/approvals/list"), nav: words.approvals, icon: "approve", scope: "feature_flag:read" },
  { path: "p/:project/approvals/:id", title: words.approvals, page: () => import("./pages/approvals/change"), within: words.approvals },
  { path: "p/:project/warnings", title: words.warnings, page: () => import("./pages/warnings"), nav: words.warnings, icon: "bell", scope: "project:read" },
  { path: "p/:project/settings", title: words.settings, page: () => import("./pages/settings/project"), nav: words.settings, icon: "gear", scope: "project:read" },
  { path: "p/:project/settings/access", title: words.access, page: () => import("./pages/access/project"), within: words.settings, scope: "access_control:read" },
  { path: "p/:project/activity", title: words.activity, page: () => import("./pages/activity"), nav: words.activity, icon: "clock", scope: "activity_log:read" },
  { path: "organization/members", title: words.members, page: () => import("./pages/organization/members"), nav: words.members, icon: "people", scope: "organization_member:read" },
  { path: "organization/domains", title: words.domains, page: () => import("./pages/organization/domains"), nav: words.domains, icon: "globe", scope: "organization:read" },
  { path: "organization/usage", title: words.usage, page: () => import("./pages/organization/usage"), nav: words.usage, icon: "meter", scope: "organization:read" },
  { path: "organization/settings", title: words.organizationSettings, page: () => import("./pages/organization/settings") },
  { path: "organization/health", title: words.health, page: () => import("./pages/organization/health"), nav: words.health, icon: "heart", scope: "organization:read" },
];

const patterns = routes.map((route) => ({ route, parts: route.path.split("/") }));

/** Returns the scope that is needed to see a page: its own, or that of the page in the navigation to which it belongs. */
export const scopeOf = (route: Route | undefined): string | undefined => route?.scope ?? (route?.within ? routes.find((r) => r.nav === route.within)?.scope : undefined);

/** Reports whether there is a page at a path. Links to missing pages are left out. */
export const hasPage = (path: string): boolean => findRoute(path).route !== undefined;

/** Decodes a part of a path. A part that is not valid becomes "", which no parameter may be. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

/** Returns the route of a path and its parameters. */
export function findRoute(path: string): { route: Route | undefined; params: Params } {
  const parts = path.split("/");
  for (const p of patterns) {
    if (p.parts.length !== parts.length) continue;
    const params: Params = {};
    const matches = p.parts.every((want, i) => {
      if (!want.startsWith(":")) return want === parts[i];
      params[want.slice(1)] = decoded(parts[i]!);
      return params[want.slice(1)] !== "";
    });
    if (matches) return { route: p.route, params };
  }
  return { route: undefined, params: {} };
}
