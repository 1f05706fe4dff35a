package frame

// ListKind is how the value of a list parameter is parsed. For most kinds an empty value counts as
// absent; the help texts do not mention this.
type ListKind int

// The kinds of parameters of lists.
const (
	kindText        ListKind = iota // any text
	kindExact                       // any text, including an empty one
	KindInt                         // an integer
	KindBool                        // false, 0 and no are false, everything else is true
	KindPresent                     // true if present with any value except false, 0 and no
	kindChoice                      // one of choices; other values are ignored with a warning
	kindJSON                        // a JSON array of strings
	kindJSONInts                    // a JSON array of integers
	kindRepeated                    // a string; repeated for several values
	kindCommas                      // like kindRepeated, or a comma-separated list, or a JSON array of strings
	kindInts                        // an integer, a comma-separated list, or a JSON array of integers
	KindTime                        // ISO 8601, or relative to now such as -7d (h, d, w, m, q, y)
	kindByEndpoint                  // parsed by the endpoint
	KindIgnored                     // accepted without effect
	KindUnsupported                 // supported by PostHog but not here; an error
)

// ListParameter is a query parameter of a list, with PostHog's name.
type ListParameter struct {
	Name    string
	Kind    ListKind
	Help    string
	Choices []string // for kindChoice
	strict  bool     // for kindChoice: other values are an error instead of ignored
}

// commonParameters are the parameters that all lists accept without an effect on filtering.
var commonParameters = map[string]bool{
	"limit": true, "offset": true, "format": true, "refresh": true, "include_total": true,
	"personal_api_key": true, "token": true, "api_key": true, // identify the caller and the project
}

// ListOf returns the parameters of the list with the given path. A list without an entry has only
// the parameters of its endpoint and of paging.
func ListOf(path string) []ListParameter { return Lists[path] }

// Lists contains the parameters of each list, by path below a project, an organization or /api
// (spec/clients.md §2.2). Validation, errors, warnings and the OpenAPI document are derived from
// it.
var Lists = map[string][]ListParameter{
	"/members": {
		{Name: "email", Kind: kindText, Help: "the email address, ignoring case"},
		{Name: "search", Kind: kindText, Help: "text that the email address, first name or last name contains"},
		{Name: "order", Kind: kindChoice, Help: "sort order: joined_at, or -joined_at (default) for the latest first", Choices: []string{"joined_at", "-joined_at"}},
		{Name: "updated_after", Kind: KindTime, Help: "only those changed after this time"},
	},
	"/users_with_access": {{Name: "resource", Kind: kindText, Help: "type of object, such as feature_flag; the project itself by default"}},
	"/insights": {
		{Name: "short_id", Kind: kindExact, Help: "the short id"},
		{Name: "saved", Kind: KindBool, Help: "true: only those that are saved or on a dashboard; false: only those that are not saved"},
		{Name: "favorited", Kind: KindPresent, Help: "only favorites"},
		{Name: "user", Kind: KindPresent, Help: "only those created by the calling user"},
		{Name: "created_by", Kind: kindInts, Help: "ids of the users who created them"},
		{Name: "hide_feature_flag_insights", Kind: KindBool, Help: "true: leave out insights about the usage of feature flags"},
		{Name: "tags", Kind: kindJSON, Help: "JSON array of tags; the insight has at least one of them"},
		{Name: "dashboards", Kind: kindJSONInts, Help: "JSON array of dashboard ids; the insight is on all of them"},
		{Name: "search", Kind: kindText, Help: "text that the name, description or a tag contains"},
		{Name: "date_from", Kind: KindTime, Help: "only those changed after this time"},
		{Name: "date_to", Kind: KindTime, Help: "only those changed before this time"},
		{Name: "created_date_from", Kind: KindTime, Help: "only those created after this time"},
		{Name: "created_date_to", Kind: KindTime, Help: "only those created before this time"},
		{Name: "insight", Kind: kindChoice, Help: "the kind of query; JSON: all kinds except SQL", Choices: []string{
			"TRENDS", "FUNNELS", "RETENTION", "PATHS", "STICKINESS", "LIFECYCLE", "JSON", "SQL",
		}},
		{Name: "order", Kind: kindChoice, Help: "sort order: a field; prefix - for descending order", Choices: []string{
			"created_at", "-created_at", "last_modified_at", "-last_modified_at", "name", "-name",
		}},
		{Name: "basic", Kind: KindBool, Help: "true: leave out the results"},
		{Name: "include_dashboards", Kind: KindIgnored}, // they are always included
		{Name: "feature_flag", Kind: KindUnsupported},
		{Name: "last_viewed_date_from", Kind: KindTime, Help: "only those that the calling user last viewed after this time"},
		{Name: "last_viewed_date_to", Kind: KindTime, Help: "only those that the calling user last viewed before this time"},
	},
	"/insights/trending": {{Name: "days", Kind: KindInt, Help: "number of days to look back, 7 by default, at most 90"}},
	"/dashboards": {
		{Name: "search", Kind: kindText, Help: "text that the name or description contains"},
		{Name: "pinned", Kind: KindBool, Help: "only those that are pinned (true) or not (false)"},
		{Name: "tags", Kind: kindRepeated, Help: "a tag; may be repeated: the dashboard has at least one of the tags"},
		{Name: "exclude_generated", Kind: KindBool, Help: "true: leave out dashboards whose name begins with Generated Dashboard"},
		{Name: "created_by", Kind: kindInts, Help: "ids of the users who created them"},
	},
	"/feature_flags": append([]ListParameter{
		{Name: "ids", Kind: kindInts, Help: "only flags with these ids: comma-separated, at most 200"},
	}, flagParameters...),
	"/feature_flags/matching_ids": flagParameters,
	"/feature_flags/{id}/exposures": {
		{Name: "date_from", Kind: KindTime, Help: "start of the period, seven days ago by default"},
		{Name: "date_to", Kind: KindTime, Help: "end of the period, now by default"},
		{Name: "interval", Kind: kindChoice, Help: "length of each interval, day by default", Choices: []string{"minute", "hour", "day"}, strict: true},
		{Name: "count", Kind: kindChoice, Help: "what to count: calls (default) and people as SDKs report them, or evaluations by this server", Choices: []string{"calls", "people", "evaluations"}, strict: true},
	},
	"/feature_flags/exposures": {
		{Name: "ids", Kind: kindInts, Help: "comma-separated ids of flags, at most 200"},
		{Name: "days", Kind: KindInt, Help: "number of days to look back, 7 by default, at most 31"},
	},
	"/cohorts/flags": {
		{Name: "ids", Kind: kindInts, Help: "comma-separated ids of cohorts, at most 200; required"},
	},
	"/cohorts": {
		{Name: "type", Kind: kindChoice, Help: "static: a fixed list of persons; dynamic: defined by filters", Choices: []string{"static", "dynamic"}},
		{Name: "created_by_id", Kind: KindInt, Help: "id of the user who created it"},
		{Name: "search", Kind: kindText, Help: "text that the name contains"},
		{Name: "hide_behavioral_cohorts", Kind: KindBool, Help: "true: leave out cohorts with filters on events"},
		{Name: "basic", Kind: KindIgnored},
	},
	"/surveys": {
		{Name: "search", Kind: kindText, Help: "text that the name or description contains"},
		{Name: "archived", Kind: KindBool, Help: "only those that are archived (true) or not (false)"},
		{Name: "ids", Kind: kindCommas, Help: "comma-separated ids"},
		{Name: "type", Kind: kindChoice, Help: "how the survey is displayed", Choices: []string{"popover", "widget", "external_survey", "api"}},
	},
	"/experiments": {
		{Name: "search", Kind: kindText, Help: "text that the name contains"},
		{Name: "status", Kind: kindChoice, Help: "only experiments with this status", Choices: []string{"draft", "running", "complete", "stopped", "paused", "all"}},
		{Name: "archived", Kind: KindBool, Help: "true: only archived ones; false (default): only those that are not archived"},
		{Name: "created_by_id", Kind: kindInts, Help: "ids of the users who created them"},
		{Name: "feature_flag_id", Kind: KindInt, Help: "id of the experiment's flag"},
		{Name: "order", Kind: kindChoice, Help: "sort order: a field; prefix - for descending order", Choices: []string{
			"created_at", "-created_at", "updated_at", "-updated_at", "start_date", "-start_date", "end_date", "-end_date", "name", "-name",
		}},
		{Name: "event", Kind: KindUnsupported},
	},
	"/experiments/eligible_feature_flags": {
		{Name: "search", Kind: kindText, Help: "text that the key or name contains"},
	},
	"/alerts": {
		{Name: "insight", Kind: kindText, Help: "only alerts for the insight with this id"},
		{Name: "insight_id", Kind: kindText, Help: "the same as insight"},
	},
	"/annotations": {
		{Name: "search", Kind: kindText, Help: "text that the content contains"},
		{Name: "scope", Kind: kindText, Help: "where the annotation is shown: dashboard_item or insight, dashboard, project, organization"},
		{Name: "date_from", Kind: kindText, Help: "only annotations that mark this time or a later one (ISO 8601)"},
		{Name: "date_to", Kind: kindText, Help: "only annotations that mark this time or an earlier one (ISO 8601)"},
		{Name: "is_emoji", Kind: KindBool, Help: "only annotations with an emoji (true) or without (false)"},
		{Name: "hidden_in_user_interface", Kind: KindBool, Help: "only annotations that are hidden in the user interface (true) or not (false)"},
	},
	"/change_requests": {
		{Name: "state", Kind: kindCommas, Help: "one or more states, comma-separated: open, approved, applied, rejected, withdrawn"},
		{Name: "flag", Kind: KindInt, Help: "only those for the flag with this id"},
	},
	"/guarded_rollouts": {
		{Name: "feature_flag", Kind: KindInt, Help: "only those for the flag with this id"},
		{Name: "status", Kind: kindText, Help: "only rollouts with this status: draft, running, holding, paused, completed, rolled_back, aborted or failed"},
	},
	"/scheduled_changes": {
		{Name: "model_name", Kind: kindExact, Help: "type of object; only FeatureFlag has scheduled changes"},
		{Name: "record_id", Kind: kindText, Help: "only those for the flag with this id"},
	},
	"/activity_log":                activityLogParameters,
	"/feature_flags/activity":      activityParameters,
	"/feature_flags/{id}/activity": activityParameters,
	"/insights/activity":           activityParameters,
	"/insights/{id}/activity":      activityParameters,
	"/cohorts/activity":            activityParameters,
	"/cohorts/{id}/activity":       activityParameters,
	"/events": {
		{Name: "properties", Kind: kindByEndpoint, Help: "JSON array of property filters; all of them must match"},
		{Name: "event", Kind: kindByEndpoint, Help: "name of the event"},
		{Name: "person_id", Kind: kindByEndpoint, Help: "uuid or numeric id of the person"},
		{Name: "distinct_id", Kind: kindByEndpoint, Help: "distinct id of the person"},
		{Name: "after", Kind: kindByEndpoint, Help: "only events at or after this time"},
		{Name: "before", Kind: kindByEndpoint, Help: "only events before this time"},
		{Name: "order", Kind: kindByEndpoint, Help: "sort order: -timestamp (latest first), or recorded (the order in which events were received)"},
		{Name: "cursor", Kind: kindByEndpoint, Help: "cursor from the next link"},
		{Name: "select", Kind: KindUnsupported},
		{Name: "where", Kind: KindUnsupported},
		{Name: "orderBy", Kind: KindUnsupported},
	},
	"/persons": {
		{Name: "cohort", Kind: kindByEndpoint, Help: "id of a cohort; only its members"},
		{Name: "properties", Kind: kindByEndpoint, Help: "JSON array of property filters; all of them must match"},
		{Name: "email", Kind: kindByEndpoint, Help: "value of the property email"},
		{Name: "distinct_id", Kind: kindByEndpoint, Help: "a distinct id of the person"},
		{Name: "search", Kind: kindByEndpoint, Help: "text that the email, name or a distinct id contains"},
		{Name: "include_total", Kind: kindByEndpoint, Help: "true: include the total number of persons, if it is known"},
		{Name: "cursor", Kind: kindByEndpoint, Help: "cursor from the next link"},
	},
	"/groups_types": {},
	"/groups": {
		{Name: "group_type_index", Kind: kindByEndpoint, Help: "index of the group type; required"},
		{Name: "group_key", Kind: kindByEndpoint, Help: "key of a group"},
		{Name: "search", Kind: kindByEndpoint, Help: "text that the key or a property contains"},
		{Name: "cursor", Kind: kindByEndpoint, Help: "cursor from the next link"},
	},
	"/event_definitions": {
		{Name: "search", Kind: kindText, Help: "words that the name contains"},
		{Name: "event_type", Kind: kindByEndpoint, Help: "type of event: event (all), event_custom or event_posthog"},
		{Name: "names", Kind: kindCommas, Help: "only those with exactly these names"},
		{Name: "tags", Kind: kindJSON, Help: "JSON array of tags; the definition has at least one of them"},
		{Name: "ordering", Kind: kindChoice, Help: "sort order: name or last_seen_at; prefix - for descending order", Choices: []string{"name", "-name", "last_seen_at", "-last_seen_at"}},
		{Name: "verified", Kind: KindBool, Help: "only those that a user has verified (true) or not (false)"},
		{Name: "exclude_hidden", Kind: KindBool, Help: "true: leave out those that a user has hidden"},
		{Name: "exclude_stale", Kind: KindBool, Help: "true: only those seen in the last 30 days"},
	},
	"/property_definitions": {
		{Name: "search", Kind: kindText, Help: "words that the name contains"},
		{Name: "type", Kind: kindByEndpoint, Help: "type of property: event, person, group or session"},
		{Name: "group_type_index", Kind: kindByEndpoint, Help: "index of the group type; required for type group"},
		{Name: "properties", Kind: kindCommas, Help: "only those with exactly these names"},
		{Name: "is_numerical", Kind: KindBool, Help: "only those whose values are numbers (true) or not (false)"},
		{Name: "is_feature_flag", Kind: KindBool, Help: "only properties that hold the value of a flag, $feature/… (true), or only others (false)"},
		{Name: "event_names", Kind: kindJSON, Help: "JSON array of event names; is_seen_on_filtered_events in the response reports whether one of these events has the property"},
		{Name: "filter_by_event_names", Kind: KindBool, Help: "true: only properties of the events in event_names"},
		{Name: "excluded_properties", Kind: kindJSON, Help: "JSON array of names to leave out"},
		{Name: "exclude_core_properties", Kind: KindBool, Help: "true: leave out properties that SDKs set automatically"},
		{Name: "verified", Kind: KindBool, Help: "only those that a user has verified (true) or not (false)"},
		{Name: "exclude_hidden", Kind: KindBool, Help: "true: leave out those that a user has hidden"},
	},
	"/ingestion_warnings": {
		{Name: "q", Kind: KindUnsupported},
	},
}

// flagParameters are the parameters of lists of flags.
var flagParameters = []ListParameter{
	{Name: "active", Kind: kindChoice, Help: "only enabled flags (true), disabled flags (false), or stale flags (STALE): enabled for everyone for a long time", Choices: []string{"true", "false", "STALE"}},
	{Name: "archived", Kind: KindBool, Help: "true: only archived ones; false (default): only those that are not archived"},
	{Name: "created_by_id", Kind: kindInts, Help: "ids of the users who created them"},
	{Name: "cohort", Kind: KindInt, Help: "id of a cohort; only flags whose conditions use it, directly or through other cohorts"},
	{Name: "search", Kind: kindText, Help: "text that the key or name contains, ignoring case; a space also matches - and _"},
	{Name: "key", Kind: kindText, Help: "the key, ignoring case"},
	{Name: "type", Kind: kindChoice, Help: "type of flag", Choices: []string{"boolean", "multivariant", "experiment", "remote_config"}},
	{Name: "evaluation_runtime", Kind: kindText, Help: "only flags with this runtime: server, client or all"},
	{Name: "tags", Kind: kindJSON, Help: "JSON array of tags; the flag has at least one of them"},
	{Name: "excluded_tags", Kind: kindJSON, Help: "JSON array of tags; the flag has none of them"},
	{Name: "excluded_properties", Kind: kindJSON, Help: "JSON array of flag keys to leave out"},
	{Name: "has_evaluation_contexts", Kind: KindBool, Help: "only flags with evaluation contexts (true) or without (false)"},
	{Name: "has_evaluation_tags", Kind: KindBool, Help: "an older name of has_evaluation_contexts"},
	{Name: "order", Kind: kindChoice, Help: "sort order: a field; prefix - for descending order", Choices: []string{
		"id", "-id", "key", "-key", "name", "-name", "active", "-active", "version", "-version",
		"created_at", "-created_at", "updated_at", "-updated_at", "status", "-status", "last_called_at", "-last_called_at",
	}},
	{Name: "status", Kind: kindCommas, Help: "one or more statuses, comma-separated: active, inactive, stale, archived"},
	{Name: "mine", Kind: KindBool, Help: "true: only flags that the calling user created or last changed"},
	{Name: "aggregation_group_type_index", Kind: KindInt, Help: "only flags for groups of this type"},
	{Name: "eligible_for_experiment", Kind: KindBool, Help: "only flags that experiments can use (true) or not (false): at least two variants, the first of which is control"},
}

// activityParameters are the parameters of the activity log of one kind of objects, and
// activityLogParameters those of the log of all kinds.
var (
	activityParameters = []ListParameter{
		{Name: "user", Kind: kindText, Help: "id or uuid of the user who made the change"},
	}
	activityLogParameters = append([]ListParameter{
		{Name: "scope", Kind: kindText, Help: "type of object, such as FeatureFlag"},
		{Name: "scopes", Kind: kindCommas, Help: "comma-separated types of objects"},
		{Name: "item_id", Kind: kindText, Help: "id of the object"},
	}, activityParameters...)
)
