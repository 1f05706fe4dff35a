package httpapi

// listKind is how the value of a list parameter is parsed. For most kinds an empty value counts as
// absent; the help texts do not mention this.
type listKind int

const (
	kindText        listKind = iota // any text
	kindExact                       // any text, including an empty one
	kindInt                         // an integer
	kindBool                        // false, 0 and no are false, everything else is true
	kindPresent                     // true if present with any value except false, 0 and no
	kindChoice                      // one of choices; other values are ignored with a warning
	kindJSON                        // a JSON array of strings
	kindJSONInts                    // a JSON array of integers
	kindRepeated                    // a string; repeated for several values
	kindCommas                      // like kindRepeated, or a comma-separated list, or a JSON array of strings
	kindInts                        // an integer, a comma-separated list, or a JSON array of integers
	kindTime                        // ISO 8601, or relative to now such as -7d (h, d, w, m, q, y)
	kindByEndpoint                  // parsed by the endpoint
	kindIgnored                     // accepted without effect
	kindUnsupported                 // supported by PostHog but not here; an error
)

// listParameter is a query parameter of a list, with PostHog's name.
type listParameter struct {
	name    string
	kind    listKind
	help    string
	choices []string // for kindChoice
	strict  bool     // for kindChoice: other values are an error instead of ignored
}

// commonParameters are the parameters that all lists accept without an effect on filtering.
var commonParameters = map[string]bool{
	"limit": true, "offset": true, "format": true, "refresh": true, "include_total": true,
	"personal_api_key": true, "token": true, "api_key": true, // identify the caller and the project
}

// listOf returns the parameters of the list with the given path. A list without an entry has only
// the parameters of its endpoint and of paging.
func listOf(path string) []listParameter { return lists[path] }

// lists contains the parameters of each list, by path below a project, an organization or /api
// (spec/clients.md §2.2). Validation, errors, warnings and the OpenAPI document are derived from
// it.
var lists = map[string][]listParameter{
	"/members": {
		{name: "email", kind: kindText, help: "the address, in any case"},
		{name: "search", kind: kindText, help: "a part of address, first or last name"},
		{name: "order", kind: kindChoice, help: "joined_at, or the latest first", choices: []string{"joined_at", "-joined_at"}},
		{name: "updated_after", kind: kindTime, help: "changed after this time"},
	},
	"/insights": {
		{name: "short_id", kind: kindExact, help: "the short id"},
		{name: "saved", kind: kindBool, help: "true: saved, or on a dashboard; false: not saved"},
		{name: "favorited", kind: kindPresent, help: "only favorites"},
		{name: "user", kind: kindPresent, help: "only those that the caller has made"},
		{name: "created_by", kind: kindInts, help: "numbers of users"},
		{name: "hide_feature_flag_insights", kind: kindBool, help: "true leaves out those about the use of feature flags"},
		{name: "tags", kind: kindJSON, help: "JSON list of tags, one of which an insight has"},
		{name: "dashboards", kind: kindJSONInts, help: "JSON list of dashboards, on all of which it stands"},
		{name: "search", kind: kindText, help: "a part of name, description or a tag"},
		{name: "date_from", kind: kindTime, help: "changed after this time"},
		{name: "date_to", kind: kindTime, help: "changed before this time"},
		{name: "created_date_from", kind: kindTime, help: "made after this time"},
		{name: "created_date_to", kind: kindTime, help: "made before this time"},
		{name: "insight", kind: kindChoice, help: "the kind of its query; JSON: any but SQL", choices: []string{
			"TRENDS", "FUNNELS", "RETENTION", "PATHS", "STICKINESS", "LIFECYCLE", "JSON", "SQL",
		}},
		{name: "order", kind: kindChoice, help: "a field, with - in front descending", choices: []string{
			"created_at", "-created_at", "last_modified_at", "-last_modified_at", "name", "-name",
		}},
		{name: "basic", kind: kindBool, help: "without results"},
		{name: "include_dashboards", kind: kindIgnored}, // they are always included
		{name: "feature_flag", kind: kindUnsupported},
		{name: "last_viewed_date_from", kind: kindTime, help: "last viewed by the caller after this time"},
		{name: "last_viewed_date_to", kind: kindTime, help: "last viewed by the caller before this time"},
	},
	"/insights/trending": {{name: "days", kind: kindInt, help: "how many days back, 7 by default, at most 90"}},
	"/dashboards": {
		{name: "search", kind: kindText, help: "a part of name or description"},
		{name: "pinned", kind: kindBool, help: "whether it is pinned"},
		{name: "tags", kind: kindRepeated, help: "a tag that a dashboard has; several times: any of them"},
		{name: "exclude_generated", kind: kindBool, help: "leave out names that begin with Generated Dashboard"},
		{name: "created_by", kind: kindInts, help: "numbers of users"},
	},
	"/feature_flags":              flagParameters,
	"/feature_flags/matching_ids": flagParameters,
	"/feature_flags/{id}/exposures": {
		{name: "date_from", kind: kindTime, help: "from this time on, seven days ago unless said"},
		{name: "date_to", kind: kindTime, help: "up to this time, now unless said"},
		{name: "interval", kind: kindChoice, help: "what a point is, a day unless said", choices: []string{"minute", "hour", "day"}, strict: true},
		{name: "count", kind: kindChoice, help: "calls and people are told by SDKs, evaluations counted here; calls unless said", choices: []string{"calls", "people", "evaluations"}, strict: true},
	},
	"/feature_flags/exposures": {
		{name: "ids", kind: kindInts, help: "ids of flags with commas between them, at most 200"},
		{name: "days", kind: kindInt, help: "how many days back, 7 by default, at most 31"},
	},
	"/cohorts": {
		{name: "type", kind: kindChoice, help: "by list or by rule", choices: []string{"static", "dynamic"}},
		{name: "created_by_id", kind: kindInt, help: "the user who made it"},
		{name: "search", kind: kindText, help: "in the name"},
		{name: "hide_behavioral_cohorts", kind: kindBool, help: "leaves those with filters on events out"},
		{name: "basic", kind: kindIgnored},
	},
	"/surveys": {
		{name: "search", kind: kindText, help: "a part of name or description"},
		{name: "archived", kind: kindBool, help: "whether it is archived"},
		{name: "ids", kind: kindCommas, help: "ids with commas between them"},
		{name: "type", kind: kindChoice, help: "how it is shown", choices: []string{"popover", "widget", "external_survey", "api"}},
	},
	"/experiments": {
		{name: "search", kind: kindText, help: "a part of the name"},
		{name: "status", kind: kindChoice, help: "how far it is", choices: []string{"draft", "running", "complete", "stopped", "paused", "all"}},
		{name: "archived", kind: kindBool, help: "only archived ones, or only others, which is the default"},
		{name: "created_by_id", kind: kindInts, help: "numbers of users"},
		{name: "feature_flag_id", kind: kindInt, help: "the number of its flag"},
		{name: "order", kind: kindChoice, help: "a field, with - in front descending", choices: []string{
			"created_at", "-created_at", "updated_at", "-updated_at", "start_date", "-start_date", "end_date", "-end_date", "name", "-name",
		}},
		{name: "event", kind: kindUnsupported},
	},
	"/experiments/eligible_feature_flags": {
		{name: "search", kind: kindText, help: "a part of key or name"},
	},
	"/alerts": {
		{name: "insight", kind: kindText, help: "the id of an insight"},
		{name: "insight_id", kind: kindText, help: "the same by another name"},
	},
	"/annotations": {
		{name: "search", kind: kindText, help: "a part of the content"},
		{name: "scope", kind: kindText, help: "where it is shown: dashboard_item or insight, dashboard, project, organization"},
		{name: "date_from", kind: kindText, help: "marks this time or a later one: ISO 8601"},
		{name: "date_to", kind: kindText, help: "marks this time or an earlier one: ISO 8601"},
		{name: "is_emoji", kind: kindBool, help: "whether it has an emoji"},
		{name: "hidden_in_user_interface", kind: kindBool, help: "whether it is hidden in the user interface"},
	},
	"/change_requests": {
		{name: "state", kind: kindCommas, help: "open, approved, applied, rejected, withdrawn; several with commas between them"},
		{name: "flag", kind: kindInt, help: "only those of one flag, by its id"},
	},
	"/guarded_rollouts": {
		{name: "feature_flag", kind: kindInt, help: "only those of one flag, by its id"},
		{name: "status", kind: kindText, help: "draft, running, holding, paused, completed, rolled_back, aborted, failed"},
	},
	"/scheduled_changes": {
		{name: "model_name", kind: kindExact, help: "the kind of thing: FeatureFlag"},
		{name: "record_id", kind: kindText, help: "only those of one flag"},
	},
	"/activity_log":                activityLogParameters,
	"/feature_flags/activity":      activityParameters,
	"/feature_flags/{id}/activity": activityParameters,
	"/insights/activity":           activityParameters,
	"/insights/{id}/activity":      activityParameters,
	"/cohorts/activity":            activityParameters,
	"/cohorts/{id}/activity":       activityParameters,
	"/events": {
		{name: "properties", kind: kindByEndpoint, help: "JSON list of property filters, all of which hold"},
		{name: "event", kind: kindByEndpoint, help: "the name"},
		{name: "person_id", kind: kindByEndpoint, help: "uuid or number of the person"},
		{name: "distinct_id", kind: kindByEndpoint, help: "the distinct id"},
		{name: "after", kind: kindByEndpoint, help: "at or after this time"},
		{name: "before", kind: kindByEndpoint, help: "before this time"},
		{name: "order", kind: kindByEndpoint, help: "-timestamp, or recorded: in the order of coming in"},
		{name: "cursor", kind: kindByEndpoint, help: "where the page begins: as in the next link"},
		{name: "select", kind: kindUnsupported},
		{name: "where", kind: kindUnsupported},
		{name: "orderBy", kind: kindUnsupported},
	},
	"/persons": {
		{name: "cohort", kind: kindByEndpoint, help: "the number of a cohort: only its members"},
		{name: "properties", kind: kindByEndpoint, help: "JSON list of property filters, all of which hold"},
		{name: "email", kind: kindByEndpoint, help: "the property email"},
		{name: "distinct_id", kind: kindByEndpoint, help: "one of the person's distinct ids"},
		{name: "search", kind: kindByEndpoint, help: "a part of email, name or a distinct id"},
		{name: "include_total", kind: kindByEndpoint, help: "answer with the number of persons too, where it is known"},
		{name: "cursor", kind: kindByEndpoint, help: "where the page begins: as in the next link"},
	},
	"/groups_types": {},
	"/groups": {
		{name: "group_type_index", kind: kindByEndpoint, help: "the number of the group type; required"},
		{name: "group_key", kind: kindByEndpoint, help: "the key of one group"},
		{name: "search", kind: kindByEndpoint, help: "a part of key or properties"},
		{name: "cursor", kind: kindByEndpoint, help: "where the page begins: as in the next link"},
	},
	"/event_definitions": {
		{name: "search", kind: kindText, help: "words, each of which is in the name"},
		{name: "event_type", kind: kindByEndpoint, help: "event, event_custom or event_posthog"},
		{name: "names", kind: kindCommas, help: "exactly these names"},
		{name: "tags", kind: kindJSON, help: "JSON list of tags, one of which it has"},
		{name: "ordering", kind: kindChoice, help: "name or last_seen_at, with - in front descending", choices: []string{"name", "-name", "last_seen_at", "-last_seen_at"}},
		{name: "verified", kind: kindBool, help: "whether somebody has verified it"},
		{name: "exclude_hidden", kind: kindBool, help: "leave out those that somebody has hidden"},
		{name: "exclude_stale", kind: kindBool, help: "only those seen in the last 30 days"},
	},
	"/property_definitions": {
		{name: "search", kind: kindText, help: "words, each of which is in the name"},
		{name: "type", kind: kindByEndpoint, help: "event, person, group or session"},
		{name: "group_type_index", kind: kindByEndpoint, help: "the number of the group type, for group"},
		{name: "properties", kind: kindCommas, help: "exactly these names"},
		{name: "is_numerical", kind: kindBool, help: "whether its values are numbers"},
		{name: "is_feature_flag", kind: kindBool, help: "whether it is the answer of a flag: $feature/…"},
		{name: "event_names", kind: kindJSON, help: "JSON list of events: is_seen_on_filtered_events says whether one of them has it"},
		{name: "filter_by_event_names", kind: kindBool, help: "only those that one of event_names has"},
		{name: "excluded_properties", kind: kindJSON, help: "JSON list of names to leave out"},
		{name: "exclude_core_properties", kind: kindBool, help: "leave out those that SDKs set by themselves"},
		{name: "verified", kind: kindBool, help: "whether somebody has verified it"},
		{name: "exclude_hidden", kind: kindBool, help: "leave out those that somebody has hidden"},
	},
	"/ingestion_warnings": {
		{name: "q", kind: kindUnsupported},
	},
}

// flagParameters are the parameters of lists of flags.
var flagParameters = []listParameter{
	{name: "active", kind: kindChoice, help: "whether it is on; STALE: on for everybody for long", choices: []string{"true", "false", "STALE"}},
	{name: "archived", kind: kindBool, help: "only archived ones, or only others, which is the default"},
	{name: "created_by_id", kind: kindInts, help: "numbers of users"},
	{name: "search", kind: kindText, help: "text in key or name, ignoring case; a blank stands for - and _ too"},
	{name: "key", kind: kindText, help: "the key, in any case"},
	{name: "type", kind: kindChoice, help: "what it gives", choices: []string{"boolean", "multivariant", "experiment", "remote_config"}},
	{name: "evaluation_runtime", kind: kindText, help: "server, client or all"},
	{name: "tags", kind: kindJSON, help: "JSON array of tags, one of which a flag has"},
	{name: "excluded_tags", kind: kindJSON, help: "JSON array of tags, none of which a flag has"},
	{name: "excluded_properties", kind: kindJSON, help: "JSON array of keys to leave out"},
	{name: "has_evaluation_contexts", kind: kindBool, help: "whether it has evaluation contexts"},
	{name: "has_evaluation_tags", kind: kindBool, help: "the same by an older name"},
	{name: "order", kind: kindChoice, help: "a field, with - in front descending", choices: []string{
		"id", "-id", "key", "-key", "name", "-name", "active", "-active", "version", "-version",
		"created_at", "-created_at", "updated_at", "-updated_at", "status", "-status", "last_called_at", "-last_called_at",
	}},
	{name: "status", kind: kindCommas, help: "active, inactive, stale, archived: any of them, with commas between"},
	{name: "mine", kind: kindBool, help: "only those that the caller has made or last changed"},
	{name: "eligible_for_experiment", kind: kindBool, help: "whether it has two variants or more, the first of them control"},
}

// activityParameters are the parameters of the activity log of one kind of objects, and
// activityLogParameters those of the log of all kinds.
var (
	activityParameters = []listParameter{
		{name: "user", kind: kindText, help: "number or uuid of who made the change"},
	}
	activityLogParameters = append([]listParameter{
		{name: "scope", kind: kindText, help: "the kind of thing, such as FeatureFlag"},
		{name: "scopes", kind: kindCommas, help: "kinds of things, with commas between them"},
		{name: "item_id", kind: kindText, help: "the id of one thing"},
	}, activityParameters...)
)
