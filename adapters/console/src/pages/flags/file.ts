// The name of the definitions file that contains a flag.
import { h } from "../../ui/dom";
import { words } from "../../words";
import { flagListWords } from "../../words/flaglist";

/** Returns the name of the file. Its title is the full path. */
export const fileTag = (file: string): HTMLElement => h("bdi", { class: "tag wrap", title: words.readOnlyFile(file) }, flagListWords.file(file.split(/[\\/]/).at(-1)!));
