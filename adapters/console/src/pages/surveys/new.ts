// A new survey.
import { newRecord } from "../records/record";
import { survey } from "./kind";

export default () => newRecord(survey);
