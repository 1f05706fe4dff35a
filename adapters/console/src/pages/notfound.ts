import { h, type Child } from "../ui/dom";
import { heading } from "../ui/parts";
import { href } from "../router";
import { homeProject } from "../session";
import { words } from "../words";

export default function notFound(): Child {
  return [heading(words.notFound), h("p", null, words.notFoundText), h("p", null, h("a", { href: href(`p/${homeProject()}`) }, words.home))];
}
