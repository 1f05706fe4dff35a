// The page of an address that no page has.
import { notFound } from "../ui/record";

export default () => notFound();
