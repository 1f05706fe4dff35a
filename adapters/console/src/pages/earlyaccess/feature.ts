// The page of an early access feature.
import type { Params } from "../../routes";
import { oneRecord } from "../records/record";
import { feature } from "./kind";

export default (params: Params) => oneRecord(feature, params);
