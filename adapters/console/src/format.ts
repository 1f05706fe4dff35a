// Numbers and lists in the language of the pages.
import { language } from "./language";

const numbers = new Intl.NumberFormat(language);
const plural = new Intl.PluralRules(language);
const lists = new Intl.ListFormat(language, { type: "unit" });
const conjunctions = new Intl.ListFormat(language, { type: "conjunction" });
const disjunctions = new Intl.ListFormat(language, { type: "disjunction" });

export const number = (n: number): string => numbers.format(n);

/** "1 flag", "5,000 flags". The default of many is the regular English plural. */
export const count = (n: number, one: string, many = one + "s"): string => `${number(n)} ${plural.select(n) === "one" ? one : many}`;

/** "a, b, c". */
export const list = (items: readonly string[]): string => lists.format(items);

/** "a, b, and c". */
export const listAll = (items: readonly string[]): string => conjunctions.format(items);

/** "a, b, or c". */
export const listAny = (items: readonly string[]): string => disjunctions.format(items);

export const percent = (n: number): string => `${number(n)} %`;
