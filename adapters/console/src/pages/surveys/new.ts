// The page New survey.
import { newRecord } from "../records/record";
import { survey } from "./kind";

export default () => newRecord(survey);
