// A new early access feature.
import { newRecord } from "../records/record";
import { feature } from "./kind";

export default () => newRecord(feature);
