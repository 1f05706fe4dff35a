// The page Health: the checks of the server, since when they have their state, and what to do (console.md N20).
import { h, when, type Child } from "../../ui/dom";
import { forbidden, heading, showResource } from "../../ui/parts";
import { chart, valuesTable } from "../../ui/chart";
import { recordTable } from "../../ui/table";
import { clockTime, time } from "../../ui/time";
import { resource } from "../../api/cache";
import type { ChartData } from "../../api/chartdata";
import { session } from "../../session";
import { healthWords } from "../../words/health";
import { adviceText, detailText, nameText, type Check } from "./healthtext";

interface Health {
  status: string;
  checks: Check[];
  build: string;
  rates: { minutes: string[]; flags: number[]; events: number[]; errors: number[] };
}

const administrator = 8; // the level that may read the health of the server
const marks: Record<string, string> = { ok: "on", warn: "stale", bad: "archived" };

export default function healthPage(): Child {
  if (![session()?.organization, ...(session()?.projects ?? [])].some((x) => (x?.level ?? 0) >= administrator)) return [heading(healthWords.health), forbidden(healthWords.forAdministrators)];
  const got = resource<Health>(() => ({ path: "health/" }));
  return [
    heading(healthWords.health),
    showResource(got, (data) => [
      h("p", { class: "gap" }, () => healthWords.overall[data().status] ?? "", " ", () => h("span", { class: "meta" }, data().build ? healthWords.build(data().build) : null)),
      recordTable<Check>(
        healthWords.checks,
        [
          { label: healthWords.check, cell: (c) => () => nameText(c()) },
          { label: healthWords.state, cell: (c) => () => h("span", { class: `state ${c().state}`, "data-mark": marks[c().state] ?? "off" }, healthWords.states[c().state] ?? c().state) },
          { label: healthWords.since, cell: (c) => () => time(c().since), class: "meta" },
          { label: healthWords.detail, cell: (c) => [() => detailText(c()), () => (c().advice ? h("p", { class: "hint" }, adviceText(c())) : null)], class: "long" },
        ],
        () => data().checks,
        (c) => c.name,
      ),
      h("h2", { class: "gap-above gap" }, healthWords.rates),
      when(() => data().rates.minutes.length === 0, () => h("p", { class: "meta" }, healthWords.ratesWait)),
      when(() => data().rates.minutes.length > 0, () => () => rates(data().rates)),
    ]),
  ];
}

function rates(r: Health["rates"]): Child {
  const labels = r.minutes.map(clockTime);
  const lines = [
    { label: healthWords.flags, data: r.flags },
    { label: healthWords.events, data: r.events },
    { label: healthWords.errors, data: r.errors },
  ];
  const table = { columns: [healthWords.minute, ...lines.map((l) => l.label)], rows: labels.map((m, i) => [m, ...lines.map((l) => l.data[i] ?? null)]).reverse() };
  const picture: ChartData = { shape: "lines", head: healthWords.minute, labels, lines, open: false, table };
  return [chart(healthWords.rates, picture), valuesTable(healthWords.rates, table)];
}
