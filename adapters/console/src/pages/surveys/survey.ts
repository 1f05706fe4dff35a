// The page of a survey.
import type { Params } from "../../routes";
import { oneRecord } from "../records/record";
import { survey } from "./kind";

export default (params: Params) => oneRecord(survey, params);
