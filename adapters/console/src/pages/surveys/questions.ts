// The questions of a survey, in fields.
import { each, effect, h, signal, when, type Child, type Signal } from "../../ui/dom";
import { icon, type Icon } from "../../ui/icons";
import { faultAlert, field, select } from "../../ui/parts";
import { branchAnswers, reorder, scaleBounds, withMembers, type Question } from "../../api/surveys";
import { words } from "../../words";
import { surveyWords } from "../../words/surveys";
import { pretty, type Control } from "../records/form";

interface Item {
  id: number;
  question: Question;
}

let ids = 0;
const itemsOf = (all: readonly Question[]): Item[] => all.map((question) => ({ id: ++ids, question }));

function parse(text: string): Question[] {
  try {
    const all = JSON.parse(text) as unknown;
    return Array.isArray(all) ? (all as Question[]) : [];
  } catch {
    return [];
  }
}

/** Returns the questions as the API takes them: without empty choices. */
export const questionsBody = (text: string): { questions: Question[] } => ({ questions: parse(text).map((q) => (q.choices ? { ...q, choices: q.choices.map((c) => c.trim()).filter(Boolean) } : q)) });

/** The members with a field; faults at other places are shown above the questions. */
const shownPlace = /^questions__\d+__(question|link|choices|scale)/;

export function questionsControl(c: Control): Child {
  let written = c.value();
  const list = signal(itemsOf(parse(written)));
  effect(() => {
    const text = c.value();
    if (text === written) return;
    written = text; // another version was loaded, or a draft discarded
    list.set(itemsOf(parse(text)));
  });
  const put = (items: Item[]) => {
    list.set(items);
    written = pretty(items.map((i) => i.question));
    c.put(written);
  };
  const other = () => (c.faults().questions && !Object.keys(c.faults()).some((p) => shownPlace.test(p)) ? c.faults().questions : undefined);
  return h("section", { class: "field", "aria-label": surveyWords.questions }, [
    h("h2", null, surveyWords.questions),
    faultAlert(other, "fault"),
    when(() => !list().length, () => h("p", { class: "meta" }, surveyWords.noQuestions)),
    h("div", { class: "conditions" }, each(list, (i) => i.id, (i) => card(i, list, put, c))),
    h("div", null, h("button", { type: "button", class: "button", disabled: c.locked, onclick: () => put([...list.peek(), { id: ++ids, question: { type: "open", question: "" } }]) }, icon("plus"), surveyWords.addQuestion)),
  ]);
}

/** Applies another order to the items, and to the branches between them. */
function ordered(items: readonly Item[], order: readonly number[]): Item[] {
  return reorder(items.map((i) => i.question), order).map((question, i) => ({ id: items[order[i]!]!.id, question }));
}

function card(item: Signal<Item>, list: Signal<Item[]>, put: (items: Item[]) => void, c: Control): HTMLElement {
  const { id } = item.peek();
  const q = () => item().question;
  const n = () => list().findIndex((x) => x.id === id);
  const change = (members: Partial<Question>) => put(list.peek().map((x) => (x.id === id ? { id, question: withMembers(x.question, members) } : x)));
  const rename = (text: string) => put(list.peek().map((x) => (x.id === id ? { id, question: { ...x.question, question: text } } : x)));
  const indexes = () => list.peek().map((_, i) => i);
  const move = (by: number) => {
    const order = indexes();
    const at = order.splice(n(), 1)[0]!;
    order.splice(at + by, 0, at);
    put(ordered(list.peek(), order));
  };
  const fault = (member: string) => () => c.faults()[`questions__${n()}__${member}`] ?? Object.entries(c.faults()).find(([p]) => p.startsWith(`questions__${n()}__${member}__`))?.[1];
  const tool = (label: string, i: Icon, run: () => void, off: () => boolean = () => false) => h("button", { type: "button", class: "button quiet icon-only", "aria-label": label, title: label, disabled: () => c.locked() || off(), onclick: run }, icon(i));
  const area: HTMLTextAreaElement = h("textarea", { rows: 2, value: () => q().question ?? "", disabled: c.locked, oninput: () => rename(area.value) });
  const text = (member: "description" | "buttonText" | "link" | "lowerBoundLabel" | "upperBoundLabel", label: string, hint?: string) => {
    const el: HTMLInputElement = h("input", { type: "text", value: () => q()[member] ?? "", disabled: c.locked, oninput: () => change({ [member]: el.value }) });
    return field(el, { label, fault: fault(member), ...(hint ? { hint } : {}) });
  };
  const check = (member: "optional" | "shuffleOptions" | "hasOpenChoice", label: string) => {
    const el: HTMLInputElement = h("input", { type: "checkbox", checked: () => Boolean(q()[member]), disabled: c.locked, onchange: () => change({ [member]: el.checked }) });
    return h("label", { class: "check" }, el, label);
  };
  const kind = (type: string) => {
    if (type === "rating") change({ type, display: q().display ?? "number", scale: q().scale ?? 5, choices: null, link: null });
    else change({ type, display: null, scale: null, lowerBoundLabel: null, upperBoundLabel: null, ...(type.endsWith("_choice") ? { choices: q().choices ?? ["", ""] } : { choices: null, shuffleOptions: null, hasOpenChoice: null }), ...(type === "link" ? {} : { link: null }), ...(q().branching?.type === "response_based" ? { branching: null } : {}) });
  };
  return h("div", { role: "group", "aria-label": () => surveyWords.questionN(n() + 1), class: "condition" }, [
    h("div", { class: "condition-head" }, [
      h("strong", { "aria-hidden": "true" }, () => surveyWords.questionN(n() + 1)),
      h("span", { class: "space" }),
      tool(words.moveUp, "up", () => move(-1), () => n() === 0),
      tool(words.moveDown, "down", () => move(1), () => n() === list().length - 1),
      tool(surveyWords.removeQuestion, "close", () => put(ordered(list.peek(), indexes().filter((i) => i !== n())))),
    ]),
    h("div", { class: "condition-body stack" }, [
      field(area, { label: surveyWords.question, fault: fault("question") }),
      field(select(() => q().type, () => Object.entries(surveyWords.types), kind, { disabled: c.locked }), { label: surveyWords.type }),
      text("description", surveyWords.explanation),
      when(() => q().type === "link", () => text("link", surveyWords.link, surveyWords.linkHint)),
      when(() => q().type === "rating", () => rating(q, change, text, c, fault("scale"))),
      when(() => q().type.endsWith("_choice"), () => [choices(q, change, c, fault("choices")), check("shuffleOptions", surveyWords.shuffle), check("hasOpenChoice", surveyWords.openChoice)]),
      check("optional", surveyWords.optional),
      text("buttonText", surveyWords.buttonText),
      branching(q, n, list, change, c),
    ]),
  ]);
}

type Change = (members: Partial<Question>) => void;

function rating(q: () => Question, change: Change, text: (member: "lowerBoundLabel" | "upperBoundLabel", label: string) => HTMLElement, c: Control, fault: () => string | undefined): Child {
  const scales = () => {
    const all = q().display === "emoji" ? [2, 3, 5] : [3, 5, 7, 10];
    const scale = q().scale ?? 5;
    return (all.includes(scale) ? all : [...all, scale]).map((s) => [String(s), s === 2 && q().display === "emoji" ? surveyWords.thumbs : surveyWords.scaleOf(...scaleBounds(s))] as const);
  };
  const display = (to: string) => change({ display: to, scale: to === "emoji" ? 5 : (q().scale === 2 ? 5 : q().scale) ?? 5 });
  return [
    h("div", { class: "pair" }, [
      field(select(() => q().display ?? "number", () => Object.entries(surveyWords.displays), display, { disabled: c.locked }), { label: surveyWords.display }),
      field(select(() => String(q().scale ?? 5), scales, (v) => change({ scale: Number(v) }), { disabled: c.locked }), { label: surveyWords.scale, fault }),
    ]),
    h("div", { class: "pair" }, [text("lowerBoundLabel", surveyWords.lowest), text("upperBoundLabel", surveyWords.highest)]),
  ];
}

function choices(q: () => Question, change: Change, c: Control, fault: () => string | undefined): HTMLElement {
  const el: HTMLTextAreaElement = h("textarea", { rows: 4, value: () => (q().choices ?? []).join("\n"), disabled: c.locked, oninput: () => change({ choices: el.value.split("\n") }) });
  return field(el, { label: surveyWords.choices, fault });
}

/** Returns the selects that say what comes after a question: for all answers, or by answer. */
function branching(q: () => Question, n: () => number, list: Signal<Item[]>, change: Change, c: Control): Child {
  const others = () => list().map((x, i) => [String(i), surveyWords.toQuestion(i + 1, x.question.question)] as const).filter(([i]) => Number(i) !== n());
  const value = () => {
    const b = q().branching;
    return b?.type === "specific_question" ? String(b.index ?? "") : b?.type === "end" ? "end" : b?.type === "response_based" ? "answer" : "";
  };
  const set = (to: string) => {
    if (to === "") change({ branching: null });
    else if (to === "end") change({ branching: { type: "end" } });
    else if (to === "answer") change({ branching: { type: "response_based", responseValues: {} } });
    else change({ branching: { type: "specific_question", index: Number(to) } });
  };
  const ends = [["", surveyWords.next], ["end", surveyWords.end]] as const;
  const nameOf = (answer: string) => surveyWords.groups[answer] ?? (q().choices ?? [])[Number(answer)] ?? answer;
  const byAnswer = (answer: string) => {
    const to = () => q().branching?.responseValues?.[answer];
    const put = (v: string) => {
      const { [answer]: _, ...rest } = q().branching?.responseValues ?? {};
      change({ branching: { type: "response_based", responseValues: v === "" ? rest : { ...rest, [answer]: v === "end" ? v : Number(v) } } });
    };
    return field(select(() => (to() === undefined || to() === "next_question" ? "" : String(to())), () => [...ends, ...others()], put, { disabled: c.locked }), { label: surveyWords.afterAnswer(nameOf(answer)) });
  };
  const answers = () => (q().branching?.type === "response_based" ? (branchAnswers(q()) ?? []) : []).join(" ");
  return [
    field(select(value, () => [...ends, ...others(), ...(branchAnswers(q()) ? [["answer", surveyWords.byAnswer] as const] : [])], set, { disabled: c.locked }), { label: surveyWords.after }),
    () => answers().split(" ").filter(Boolean).map(byAnswer),
  ];
}
