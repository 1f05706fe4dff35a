import { h, type Child } from "../ui/dom";
import { heading } from "../ui/parts";
import { href } from "../router";
import { homeProject } from "../session";
import { w } from "../words";

export default function notFound(): Child {
  return [heading(w.notFound), h("p", null, w.notFoundText), h("p", null, h("a", { href: href(`p/${homeProject()}`) }, w.home))];
}
