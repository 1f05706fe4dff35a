// The page New feature.
import { newRecord } from "../records/record";
import { feature } from "./kind";

export default () => newRecord(feature);
