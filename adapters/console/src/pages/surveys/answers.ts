// The answers to a survey: a summary of each question, and each answer.
import { h, onEnd, signal, when, type Child, type Signal } from "../../ui/dom";
import { download, valuesTable } from "../../ui/chart";
import { button, empty } from "../../ui/parts";
import { loadRecord, recordPage } from "../../ui/record";
import { recordTable, type Column } from "../../ui/table";
import { time } from "../../ui/time";
import { get } from "../../api/client";
import type { Table } from "../../api/chartdata";
import { choicesOf, loadAnswers, maxAnswers, summaryOf, type Answer, type Answers, type Question } from "../../api/surveys";
import { href } from "../../router";
import type { Params } from "../../routes";
import { projectPath, project } from "../../session";
import { list, percent, words } from "../../words";
import { surveyWords } from "../../words/surveys";
import { surveysPath, tabsOf, type Survey } from "./about";

const shownAtOnce = 50; // the number of answers that are shown first, and with each "Load more"

interface Stats {
  stats: Record<string, { total_count: number }>;
  rates: { response_rate: number };
}

interface Loaded {
  survey: Survey & { questions: Question[] };
  answers: Answers;
  stats: Stats;
}

export default function answersPage(params: Params): Child {
  const cancel = new AbortController();
  onEnd(() => cancel.abort());
  const request = async (): Promise<Loaded> => {
    const path = `${projectPath(surveysPath)}${params.id}/`;
    const s = await get<Loaded["survey"]>(path, {}, cancel.signal);
    const [answers, stats] = await Promise.all([loadAnswers(s.id, s.questions, s.start_date ?? s.created_at, cancel.signal), get<Stats>(`${path}stats/`, {}, cancel.signal)]);
    return { survey: s, answers, stats };
  };
  return recordPage<Loaded>({
    record: loadRecord(request),
    title: (got) => got.survey.name,
    list: { label: words.surveys, path: "surveys" },
    tabs: tabsOf(params.id!, "answers"),
    show: content,
  });
}

function content(got: Signal<Loaded>): Child {
  const { survey: s, answers, stats } = got.peek();
  if (!answers.list.length) return empty(surveyWords.noAnswers, surveyWords.noAnswersText);
  const incomplete = answers.list.filter((a) => !a.complete).length;
  const facts = [
    surveyWords.nAnswers(answers.cut ? (stats.stats["survey sent"]?.total_count ?? answers.list.length) : answers.list.length),
    ...(incomplete ? [surveyWords.incomplete(incomplete)] : []),
    surveyWords.shown(stats.stats["survey shown"]?.total_count ?? 0),
    surveyWords.dismissed(stats.stats["survey dismissed"]?.total_count ?? 0),
    ...(stats.stats["survey shown"]?.total_count ? [surveyWords.rate(stats.rates.response_rate)] : []),
  ];
  return [
    h("p", { class: "meta gap" }, list(facts)),
    answers.cut ? h("p", { class: "warning" }, surveyWords.newestOnly(maxAnswers)) : null,
    s.questions.map((q, i) => summary(q, i, answers.list)),
    each(s, answers.list),
  ];
}

function summary(q: Question, index: number, all: Answer[]): HTMLElement {
  const s = summaryOf(q, index, all);
  const name = q.question || surveyWords.questionN(index + 1);
  const facts = [surveyWords.answered(s.answered, all.length), ...(s.average === null ? [] : [surveyWords.average(s.average)]), ...(s.score === null ? [] : [surveyWords.netPromoter(s.score)])];
  const table: Table = {
    columns: [surveyWords.answer, surveyWords.countHead, surveyWords.share],
    rows: s.counts.map(([value, n]) => [value, n, percent(s.answered ? Math.round((1000 * n) / s.answered) / 10 : 0)]),
  };
  const content = (): Child => {
    if (q.type === "link") return h("p", null, surveyWords.followed(s.answered));
    if (q.type === "open") return texts(q, index, name, all);
    return valuesTable(surveyWords.counts(name), table);
  };
  return h("section", { class: "card", "aria-label": name }, [h("h2", null, h("bdi", null, name)), q.type === "link" ? null : h("p", { class: "meta gap" }, list(facts)), content()]);
}

/** Shows the texts of an open question, the newest first. */
function texts(q: Question, index: number, name: string, all: Answer[]): Child {
  const shown = signal(10);
  const answered = all.filter((a) => a.values[index] !== null);
  if (!answered.length) return null;
  return [
    h("ul", { class: "rows", "aria-label": surveyWords.texts(name) }, () => answered.slice(0, shown()).map((a) => h("li", null, h("bdi", null, choicesOf(q, a.values[index]!).join(", ")), h("span", { class: "space" }), h("span", { class: "meta" }, time(a.at))))),
    when(() => answered.length > shown(), () => h("p", { class: "gap-above" }, button(words.loadMore, { run: () => shown.update((n) => n + shownAtOnce) }))),
  ];
}

/** Shows each answer in a row, with its person. */
function each(s: Loaded["survey"], all: Answer[]): Child {
  const shown = signal(shownAtOnce);
  const name = (i: number) => s.questions[i]!.question || surveyWords.questionN(i + 1);
  const value = (a: Answer, i: number) => {
    const v = a.values[i];
    return v === null || v === undefined ? "" : list(choicesOf(s.questions[i]!, v));
  };
  const columns: Column<Answer>[] = [
    { label: surveyWords.time, cell: (a) => [() => time(a().at), () => (a().complete ? null : ` ${surveyWords.partial}`)], class: "meta" },
    { label: surveyWords.person, cell: (a) => h("a", { href: () => href(`p/${project()}/people/${a().person}`) }, h("bdi", null, () => a().distinct_id)) },
    ...s.questions.map((_, i) => ({ label: name(i), cell: (a: Signal<Answer>) => h("bdi", null, () => value(a(), i)), class: "long" })),
  ];
  const csv = (): Table => ({ columns: [surveyWords.time, surveyWords.person, ...s.questions.map((_, i) => name(i))], rows: all.map((a) => [a.at, a.distinct_id, ...s.questions.map((_, i) => value(a, i))]) });
  return [
    h("div", { class: "between gap gap-above" }, h("h2", null, surveyWords.each), button(surveyWords.downloadCSV, { run: () => download(s.name, csv()) })),
    recordTable<Answer>(surveyWords.each, columns, () => all.slice(0, shown()), (a) => a.key),
    when(() => all.length > shown(), () => h("p", { class: "gap-above" }, button(words.loadMore, { run: () => shown.update((n) => n + shownAtOnce) }))),
  ];
}
