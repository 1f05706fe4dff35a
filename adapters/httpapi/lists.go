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
		{name: "email", kind: kindText, help: "the email address, ignoring case"},
		{name: "search", kind: kindText, help: "text that the email address, first name or last name contains"},
		{name: "order", kind: kindChoice, help: "sort order: joined_at, or -joined_at for the latest first", choices: []string{"joined_at", "-joined_at"}},
		{name: "updated_after", kind: kindTime, help: "only those changed after this time"},
	},
	"/insights": {
		{name: "short_id", kind: kindExact, help: "the short id"},
		{name: "saved", kind: kindBool, help: "true: only those that are saved or on a dashboard; false: only those that are not saved"},
		{name: "favorited", kind: kindPresent, help: "only favorites"},
		{name: "user", kind: kindPresent, help: "only those created by the calling user"},
		{name: "created_by", kind: kindInts, help: "ids of the users who created them"},
		{name: "hide_feature_flag_insights", kind: kindBool, help: "true: leave out insights about the usage of feature flags"},
		{name: "tags", kind: kindJSON, help: "JSON array of tags; the insight has at least one of them"},
		{name: "dashboards", kind: kindJSONInts, help: "JSON array of dashboard ids; the insight is on all of them"},
		{name: "search", kind: kindText, help: "text that the name, description or a tag contains"},
		{name: "date_from", kind: kindTime, help: "only those changed after this time"},
		{name: "date_to", kind: kindTime, help: "only those changed before this time"},
		{name: "created_date_from", kind: kindTime, help: "only those created after this time"},
		{name: "created_date_to", kind: kindTime, help: "only those created before this time"},
		{name: "insight", kind: kindChoice, help: "the kind of query; JSON: all kinds except SQL", choices: []string{
			"TRENDS", "FUNNELS", "RETENTION", "PATHS", "STICKINESS", "LIFECYCLE", "JSON", "SQL",
		}},
		{name: "order", kind: kindChoice, help: "sort order: a field; prefix - for descending order", choices: []string{
			"created_at", "-created_at", "last_modified_at", "-last_modified_at", "name", "-name",
		}},
		{name: "basic", kind: kindBool, help: "true: leave out the results"},
		{name: "include_dashboards", kind: kindIgnored}, // they are always included
		{name: "feature_flag", kind: kindUnsupported},
		{name: "last_viewed_date_from", kind: kindTime, help: "only those that the calling user last viewed after this time"},
		{name: "last_viewed_date_to", kind: kindTime, help: "only those that the calling user last viewed before this time"},
	},
	"/insights/trending": {{name: "days", kind: kindInt, help: "number of days to look back, 7 by default, at most 90"}},
	"/dashboards": {
		{name: "search", kind: kindText, help: "text that the name or description contains"},
		{name: "pinned", kind: kindBool, help: "only those that are pinned (true) or not (false)"},
		{name: "tags", kind: kindRepeated, help: "a tag; may be repeated: the dashboard has at least one of the tags"},
		{name: "exclude_generated", kind: kindBool, help: "true: leave out dashboards whose name begins with Generated Dashboard"},
		{name: "created_by", kind: kindInts, help: "ids of the users who created them"},
	},
	"/feature_flags":              flagParameters,
	"/feature_flags/matching_ids": flagParameters,
	"/feature_flags/{id}/exposures": {
		{name: "date_from", kind: kindTime, help: "start of the period, seven days ago by default"},
		{name: "date_to", kind: kindTime, help: "end of the period, now by default"},
		{name: "interval", kind: kindChoice, help: "length of each interval, day by default", choices: []string{"minute", "hour", "day"}, strict: true},
		{name: "count", kind: kindChoice, help: "what to count: calls (default) and people as SDKs report them, or evaluations by this server", choices: []string{"calls", "people", "evaluations"}, strict: true},
	},
	"/feature_flags/exposures": {
		{name: "ids", kind: kindInts, help: "comma-separated ids of flags, at most 200"},
		{name: "days", kind: kindInt, help: "number of days to look back, 7 by default, at most 31"},
	},
	"/cohorts": {
		{name: "type", kind: kindChoice, help: "static: a fixed list of persons; dynamic: defined by filters", choices: []string{"static", "dynamic"}},
		{name: "created_by_id", kind: kindInt, help: "id of the user who created it"},
		{name: "search", kind: kindText, help: "text that the name contains"},
		{name: "hide_behavioral_cohorts", kind: kindBool, help: "true: leave out cohorts with filters on events"},
		{name: "basic", kind: kindIgnored},
	},
	"/surveys": {
		{name: "search", kind: kindText, help: "text that the name or description contains"},
		{name: "archived", kind: kindBool, help: "only those that are archived (true) or not (false)"},
		{name: "ids", kind: kindCommas, help: "comma-separated ids"},
		{name: "type", kind: kindChoice, help: "how the survey is displayed", choices: []string{"popover", "widget", "external_survey", "api"}},
	},
	"/experiments": {
		{name: "search", kind: kindText, help: "text that the name contains"},
		{name: "status", kind: kindChoice, help: "only experiments with this status", choices: []string{"draft", "running", "complete", "stopped", "paused", "all"}},
		{name: "archived", kind: kindBool, help: "true: only archived ones; false (default): only those that are not archived"},
		{name: "created_by_id", kind: kindInts, help: "ids of the users who created them"},
		{name: "feature_flag_id", kind: kindInt, help: "id of the experiment's flag"},
		{name: "order", kind: kindChoice, help: "sort order: a field; prefix - for descending order", choices: []string{
			"created_at", "-created_at", "updated_at", "-updated_at", "start_date", "-start_date", "end_date", "-end_date", "name", "-name",
		}},
		{name: "event", kind: kindUnsupported},
	},
	"/experiments/eligible_feature_flags": {
		{name: "search", kind: kindText, help: "text that the key or name contains"},
	},
	"/alerts": {
		{name: "insight", kind: kindText, help: "only alerts for the insight with this id"},
		{name: "insight_id", kind: kindText, help: "the same as insight"},
	},
	"/annotations": {
		{name: "search", kind: kindText, help: "text that the content contains"},
		{name: "scope", kind: kindText, help: "where the annotation is shown: dashboard_item or insight, dashboard, project, organization"},
		{name: "date_from", kind: kindText, help: "only annotations that mark this time or a later one (ISO 8601)"},
		{name: "date_to", kind: kindText, help: "only annotations that mark this time or an earlier one (ISO 8601)"},
		{name: "is_emoji", kind: kindBool, help: "only annotations with an emoji (true) or without (false)"},
		{name: "hidden_in_user_interface", kind: kindBool, help: "only annotations that are hidden in the user interface (true) or not (false)"},
	},
	"/change_requests": {
		{name: "state", kind: kindCommas, help: "one or more states, comma-separated: open, approved, applied, rejected, withdrawn"},
		{name: "flag", kind: kindInt, help: "only those for the flag with this id"},
	},
	"/guarded_rollouts": {
		{name: "feature_flag", kind: kindInt, help: "only those for the flag with this id"},
		{name: "status", kind: kindText, help: "only rollouts with this status: draft, running, holding, paused, completed, rolled_back, aborted or failed"},
	},
	"/scheduled_changes": {
		{name: "model_name", kind: kindExact, help: "type of object; only FeatureFlag has scheduled changes"},
		{name: "record_id", kind: kindText, help: "only those for the flag with this id"},
	},
	"/activity_log":                activityLogParameters,
	"/feature_flags/activity":      activityParameters,
	"/feature_flags/{id}/activity": activityParameters,
	"/insights/activity":           activityParameters,
	"/insights/{id}/activity":      activityParameters,
	"/cohorts/activity":            activityParameters,
	"/cohorts/{id}/activity":       activityParameters,
	"/events": {
		{name: "properties", kind: kindByEndpoint, help: "JSON array of property filters; all of them must match"},
		{name: "event", kind: kindByEndpoint, help: "name of the event"},
		{name: "person_id", kind: kindByEndpoint, help: "uuid or numeric id of the person"},
		{name: "distinct_id", kind: kindByEndpoint, help: "distinct id of the person"},
		{name: "after", kind: kindByEndpoint, help: "only events at or after this time"},
		{name: "before", kind: kindByEndpoint, help: "only events before this time"},
		{name: "order", kind: kindByEndpoint, help: "sort order: -timestamp (latest first), or recorded (the order in which events were received)"},
		{name: "cursor", kind: kindByEndpoint, help: "cursor from the next link"},
		{name: "select", kind: kindUnsupported},
		{name: "where", kind: kindUnsupported},
		{name: "orderBy", kind: kindUnsupported},
	},
	"/persons": {
		{name: "cohort", kind: kindByEndpoint, help: "id of a cohort; only its members"},
		{name: "properties", kind: kindByEndpoint, help: "JSON array of property filters; all of them must match"},
		{name: "email", kind: kindByEndpoint, help: "value of the property email"},
		{name: "distinct_id", kind: kindByEndpoint, help: "a distinct id of the person"},
		{name: "search", kind: kindByEndpoint, help: "text that the email, name or a distinct id contains"},
		{name: "include_total", kind: kindByEndpoint, help: "true: include the total number of persons, if it is known"},
		{name: "cursor", kind: kindByEndpoint, help: "cursor from the next link"},
	},
	"/groups_types": {},
	"/groups": {
		{name: "group_type_index", kind: kindByEndpoint, help: "index of the group type; required"},
		{name: "group_key", kind: kindByEndpoint, help: "key of a group"},
		{name: "search", kind: kindByEndpoint, help: "text that the key or a property contains"},
		{name: "cursor", kind: kindByEndpoint, help: "cursor from the next link"},
	},
	"/event_definitions": {
		{name: "search", kind: kindText, help: "words that the name contains"},
		{name: "event_type", kind: kindByEndpoint, help: "type of event: event (all), event_custom or event_posthog"},
		{name: "names", kind: kindCommas, help: "only those with exactly these names"},
		{name: "tags", kind: kindJSON, help: "JSON array of tags; the definition has at least one of them"},
		{name: "ordering", kind: kindChoice, help: "sort order: name or last_seen_at; prefix - for descending order", choices: []string{"name", "-name", "last_seen_at", "-last_seen_at"}},
		{name: "verified", kind: kindBool, help: "only those that a user has verified (true) or not (false)"},
		{name: "exclude_hidden", kind: kindBool, help: "true: leave out those that a user has hidden"},
		{name: "exclude_stale", kind: kindBool, help: "true: only those seen in the last 30 days"},
	},
	"/property_definitions": {
		{name: "search", kind: kindText, help: "words that the name contains"},
		{name: "type", kind: kindByEndpoint, help: "type of property: event, person, group or session"},
		{name: "group_type_index", kind: kindByEndpoint, help: "index of the group type; required for type group"},
		{name: "properties", kind: kindCommas, help: "only those with exactly these names"},
		{name: "is_numerical", kind: kindBool, help: "only those whose values are numbers (true) or not (false)"},
		{name: "is_feature_flag", kind: kindBool, help: "only properties that hold the value of a flag, $feature/… (true), or only others (false)"},
		{name: "event_names", kind: kindJSON, help: "JSON array of event names; is_seen_on_filtered_events in the response reports whether one of these events has the property"},
		{name: "filter_by_event_names", kind: kindBool, help: "true: only properties of the events in event_names"},
		{name: "excluded_properties", kind: kindJSON, help: "JSON array of names to leave out"},
		{name: "exclude_core_properties", kind: kindBool, help: "true: leave out properties that SDKs set automatically"},
		{name: "verified", kind: kindBool, help: "only those that a user has verified (true) or not (false)"},
		{name: "exclude_hidden", kind: kindBool, help: "true: leave out those that a user has hidden"},
	},
	"/ingestion_warnings": {
		{name: "q", kind: kindUnsupported},
	},
}

// flagParameters are the parameters of lists of flags.
var flagParameters = []listParameter{
	{name: "active", kind: kindChoice, help: "only enabled flags (true), disabled flags (false), or stale flags (STALE): enabled for everyone for a long time", choices: []string{"true", "false", "STALE"}},
	{name: "archived", kind: kindBool, help: "true: only archived ones; false (default): only those that are not archived"},
	{name: "created_by_id", kind: kindInts, help: "ids of the users who created them"},
	{name: "search", kind: kindText, help: "text that the key or name contains, ignoring case; a space also matches - and _"},
	{name: "key", kind: kindText, help: "the key, ignoring case"},
	{name: "type", kind: kindChoice, help: "type of flag", choices: []string{"boolean", "multivariant", "experiment", "remote_config"}},
	{name: "evaluation_runtime", kind: kindText, help: "only flags with this runtime: server, client or all"},
	{name: "tags", kind: kindJSON, help: "JSON array of tags; the flag has at least one of them"},
	{name: "excluded_tags", kind: kindJSON, help: "JSON array of tags; the flag has none of them"},
	{name: "excluded_properties", kind: kindJSON, help: "JSON array of flag keys to leave out"},
	{name: "has_evaluation_contexts", kind: kindBool, help: "only flags with evaluation contexts (true) or without (false)"},
	{name: "has_evaluation_tags", kind: kindBool, help: "an older name of has_evaluation_contexts"},
	{name: "order", kind: kindChoice, help: "sort order: a field; prefix - for descending order", choices: []string{
		"id", "-id", "key", "-key", "name", "-name", "active", "-active", "version", "-version",
		"created_at", "-created_at", "updated_at", "-updated_at", "status", "-status", "last_called_at", "-last_called_at",
	}},
	{name: "status", kind: kindCommas, help: "one or more statuses, comma-separated: active, inactive, stale, archived"},
	{name: "mine", kind: kindBool, help: "true: only flags that the calling user created or last changed"},
	{name: "eligible_for_experiment", kind: kindBool, help: "only flags that experiments can use (true) or not (false): at least two variants, the first of which is control"},
}

// activityParameters are the parameters of the activity log of one kind of objects, and
// activityLogParameters those of the log of all kinds.
var (
	activityParameters = []listParameter{
		{name: "user", kind: kindText, help: "id or uuid of the user who made the change"},
	}
	activityLogParameters = append([]listParameter{
		{name: "scope", kind: kindText, help: "type of object, such as FeatureFlag"},
		{name: "scopes", kind: kindCommas, help: "comma-separated types of objects"},
		{name: "item_id", kind: kindText, help: "id of the object"},
	}, activityParameters...)
)
