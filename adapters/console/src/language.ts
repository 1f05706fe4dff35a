// The language of the pages. The build makes a bundle for each language: its texts are those of words,
// or in German those of words/de, and it sets LANGUAGE.
declare const LANGUAGE: string;

/** The language of this bundle, for Intl. */
export const language: string = LANGUAGE;

/** The language of dates: in English, those of Britain, with the day before the month. */
export const dateLanguage: string = language === "en" ? "en-GB" : language;
