package organizations

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/approvals"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// projectSettings are the settings of a project for its SDKs and pages (§5.8). A null setting is
// not set. The members have the names of the fields in settingFields.
type projectSettings struct {
	// The addresses of the project's own web pages.
	AppURLs []string `json:"app_urls"`
	// Filters that leave out test accounts, for queries with filterTestAccounts.
	TestAccountFilters json.RawMessage `json:"test_account_filters"`
	TestAccountDefault *bool           `json:"test_account_filters_default_checked"`
	PathCleaning       json.RawMessage `json:"path_cleaning_filters"`
	DataAttributes     []string        `json:"data_attributes"`
	PersonDisplayNames []string        `json:"person_display_name_properties"`
	Correlation        json.RawMessage `json:"correlation_config"`
	// Settings for posthog-js: see browserSettings.
	AutocaptureOptOut        *bool           `json:"autocapture_opt_out"`
	AutocaptureExceptions    *bool           `json:"autocapture_exceptions_opt_in"`
	AutocaptureIgnoredErrors json.RawMessage `json:"autocapture_exceptions_errors_to_ignore"`
	WebVitals                *bool           `json:"autocapture_web_vitals_opt_in"`
	WebVitalsMetrics         json.RawMessage `json:"autocapture_web_vitals_allowed_metrics"`
	ConsoleLog               *bool           `json:"capture_console_log_opt_in"`
	Performance              *bool           `json:"capture_performance_opt_in"`
	DeadClicks               *bool           `json:"capture_dead_clicks"`
	// Recordings are not stored; their settings are only returned.
	Recording           *bool           `json:"session_recording_opt_in"`
	RecordingSampleRate *string         `json:"session_recording_sample_rate"`
	RecordingMinimum    *int64          `json:"session_recording_minimum_duration_milliseconds"`
	RecordingLinkedFlag json.RawMessage `json:"session_recording_linked_flag"`
	RecordingNetwork    json.RawMessage `json:"session_recording_network_payload_capture_config"`
	RecordingMasking    json.RawMessage `json:"session_recording_masking_config"`
	Replay              json.RawMessage `json:"session_replay_config"`
	RecordingDomains    []string        `json:"recording_domains"`
	// Settings of surveys. Surveys are on unless Surveys is false.
	SurveyConfig json.RawMessage `json:"survey_config"`
	Surveys      *bool           `json:"surveys_opt_in"`
	// Experiments are the defaults of experiments.
	Experiments experimentsConfig `json:"experiments_config"`
	Heatmaps    *bool             `json:"heatmaps_opt_in"`
	// Settings of pages: WeekStart is 0 for Sunday and 1 for Monday.
	WeekStart         *int64          `json:"week_start_day"`
	PrimaryDashboard  *int64          `json:"primary_dashboard"`
	LiveEventsColumns []string        `json:"live_events_columns"`
	InjectWebApps     *bool           `json:"inject_web_apps"`
	Extra             json.RawMessage `json:"extra_settings"`
	Modifiers         json.RawMessage `json:"modifiers"`
	FlagsPersistence  *bool           `json:"flags_persistence_default"`
	// SnippetDefaults is a snippetDefaults.
	SnippetDefaults json.RawMessage `json:"snippet_defaults"`
	// Cookieless has no effect: events without cookies are not stored.
	Cookieless *int64 `json:"cookieless_server_hash_mode"`
}

// settingFields are the fields that only configure a project: keys with the scope project:read may
// change them (§5.8).
var settingFields = management.Fields{
	{Name: "anonymize_ips", Type: management.Bool, Help: "true: IP addresses are not stored with events"},
	{Name: "timezone", Type: management.Text, MaxLength: 64, Help: "an IANA time zone such as Europe/Oslo, UTC by default; it applies to dates in flags"},
	{Name: "completed_snippet_onboarding", Type: management.Bool},
	{Name: "has_completed_onboarding_for", Type: management.Object, Null: true},
	{Name: "app_urls", Type: management.TextList, Null: true, Blank: true, MaxLength: 200},
	{Name: "test_account_filters", Type: management.Array},
	{Name: "test_account_filters_default_checked", Type: management.Bool, Null: true},
	{Name: "path_cleaning_filters", Type: management.Array, Null: true},
	{Name: "data_attributes", Type: management.TextList, MaxLength: 200},
	{Name: "person_display_name_properties", Type: management.TextList, Null: true, MaxLength: 400},
	{Name: "correlation_config", Type: management.Object, Null: true},
	{Name: "autocapture_opt_out", Type: management.Bool, Null: true},
	{Name: "autocapture_exceptions_opt_in", Type: management.Bool, Null: true},
	{Name: "autocapture_exceptions_errors_to_ignore", Type: management.Array, Null: true},
	{Name: "autocapture_web_vitals_opt_in", Type: management.Bool, Null: true},
	{Name: "autocapture_web_vitals_allowed_metrics", Type: management.Array, Null: true},
	{Name: "capture_console_log_opt_in", Type: management.Bool, Null: true},
	{Name: "capture_performance_opt_in", Type: management.Bool, Null: true},
	{Name: "capture_dead_clicks", Type: management.Bool, Null: true},
	{Name: "session_recording_opt_in", Type: management.Bool, Null: true, Help: "stored without effect, because recordings are not stored"},
	{Name: "session_recording_sample_rate", Type: management.Text, Null: true, MaxLength: 8, Help: "a decimal number from 0 to 1, as a string"},
	{Name: "session_recording_minimum_duration_milliseconds", Type: management.Int, Null: true, MinValue: 0, MaxValue: 30_000},
	{Name: "session_recording_linked_flag", Type: management.Any},
	{Name: "session_recording_network_payload_capture_config", Type: management.Object, Null: true},
	{Name: "session_recording_masking_config", Type: management.Object, Null: true},
	{Name: "session_replay_config", Type: management.Object, Null: true},
	{Name: "recording_domains", Type: management.TextList, Null: true, MaxLength: 200},
	{Name: "survey_config", Type: management.Object, Null: true},
	{Name: "surveys_opt_in", Type: management.Bool, Null: true},
	experimentsConfigField,
	{Name: "heatmaps_opt_in", Type: management.Bool, Null: true},
	{Name: "week_start_day", Type: management.IntChoice, Numbers: []int64{0, 1}, Null: true, Help: "0 is Sunday, 1 is Monday"},
	{Name: "primary_dashboard", Type: management.Int, Null: true},
	{Name: "live_events_columns", Type: management.TextList, Null: true, MaxLength: 400},
	{Name: "inject_web_apps", Type: management.Bool, Null: true},
	{Name: "extra_settings", Type: management.Any},
	{Name: "modifiers", Type: management.Object, Null: true},
	{Name: "flags_persistence_default", Type: management.Bool, Null: true},
	snippetField,
	{Name: "cookieless_server_hash_mode", Type: management.IntChoice, Numbers: []int64{0, 1, 2}, Null: true, Help: "stored without effect, because cookieless events are not stored"},
}

// projectFields are the writable fields of a project.
var projectFields = custom(slices.Concat(management.Fields{
	{Name: "name", Type: management.Text, MaxLength: 200, Help: "name of the project, Default project by default"},
	{Name: "product_description", Type: management.Text, Null: true, Blank: true, MaxLength: 1000},
	{Name: "access_control", Type: management.Bool, Help: "true: only administrators of the organization, and members with an access rule for the project, have access"},
	{Name: "bucketing_hash", Type: management.Choice, Choices: []string{"sha1", "murmur3"}, Help: "hash function that assigns persons to buckets; a change moves persons between variants"},
	{Name: "property_matching_version", Type: management.IntChoice, Numbers: []int64{1, 2}, Help: "version of the rules that compare properties"},
	approvals.Field,
}, settingFields))

// engineSettings are the settings that affect the evaluation of flags, with their defaults as JSON.
// They are stored in ProjectRecord.Settings, and a definitions file can set them.
var engineSettings = map[string]string{"timezone": `"UTC"`, "bucketing_hash": `"sha1"`, "property_matching_version": "1"}

// maxSettings is the greatest size of a project's Meta, in bytes.
const maxSettings = 256 << 10

// OnlyConfigures reports whether a body changes only fields of settingFields (§5.8). Unknown
// members do not count.
func OnlyConfigures(b management.Body) bool {
	for i := range projectFields {
		name := projectFields[i].Name
		_, ok := b.Members[name]
		if ok && !slices.ContainsFunc(settingFields, func(f management.Field) bool { return f.Name == name }) {
			return false
		}
	}
	return true
}

// configure applies the fields of a body to a project and its Meta. It copies the maps of settings
// before it changes them.
func configure(p *management.ProjectRecord, meta *management.ProjectMeta, v management.Values) error {
	// LoadLocation accepts "Local", which would depend on the server's machine.
	if name := v.Text("timezone"); name != "" {
		if _, err := time.LoadLocation(name); err != nil || name == "Local" {
			return management.NotATimezone(name)
		}
	}
	if rate, ok := management.Value[string](v, "session_recording_sample_rate"); ok && !isRate(rate) {
		return management.Fault("session_recording_sample_rate", "A number from 0 to 1 is required.")
	}
	if err := readNested(meta, v); err != nil {
		return err
	}
	p.Settings, meta.Settings = maps.Clone(p.Settings), maps.Clone(meta.Settings)
	if p.Settings == nil {
		p.Settings = map[string]json.RawMessage{}
	}
	if meta.Settings == nil {
		meta.Settings = map[string]json.RawMessage{}
	}
	for name, value := range v {
		switch name {
		// These have fields of their own.
		case "name", "anonymize_ips", "access_control", "api_token":
			continue
		}
		// Settings for the evaluation of flags are a part of the definitions.
		into := meta.Settings
		if engineSettings[name] != "" {
			into = p.Settings
		}
		into[name] = storage.Encode(value)
		// Null restores the default.
		if value == nil && engineSettings[name] != "" {
			delete(into, name)
		}
	}
	management.Set(v, "name", &p.Name)
	management.Set(v, "anonymize_ips", &p.AnonymizeIPs)
	if private, ok := management.Value[bool](v, "access_control"); ok && private != (meta.Default == management.NoAccess) {
		// Rules about members and roles stay as they are.
		if meta.Default = ""; private {
			meta.Default = management.NoAccess
		}
	}
	if p.Meta = storage.Encode(meta); len(p.Meta) > maxSettings {
		return management.CodedFault(management.CodeMaxLength, "", "The settings of a project may have no more than %d bytes.", maxSettings)
	}
	return nil
}

// readNested replaces the JSON of settings that are objects with members of their own by their
// values.
func readNested(meta *management.ProjectMeta, v management.Values) (err error) {
	if raw := v.Raw(approvals.Field.Name); raw != nil {
		needed, err := approvals.Read(raw)
		if err != nil {
			return err
		}
		v[approvals.Field.Name] = needed
	}
	if raw := v.Raw(snippetField.Name); raw != nil {
		defaults, err := readSnippetDefaults(raw)
		if err != nil {
			return err
		}
		v[snippetField.Name] = defaults
	}
	name := experimentsConfigField.Name
	if !v.Has(name) || v.IsNull(name) { // null removes all defaults
		return nil
	}
	before, err := experimentsConfigOf(meta)
	if err != nil {
		return err
	}
	v[name], err = readExperimentsConfig(v.Raw(name), before)
	return err
}

// isRate reports whether a string is a number from 0 to 1.
func isRate(text string) bool {
	var rate float64
	return json.Unmarshal([]byte(text), &rate) == nil && rate >= 0 && rate <= 1
}

// engineSetting returns a setting of engineSettings, or its default.
func engineSetting(p *management.ProjectRecord, name string) json.RawMessage {
	if raw := p.Settings[name]; len(raw) > 0 && string(raw) != "null" {
		return raw
	}
	return json.RawMessage(engineSettings[name])
}

// settingsOf returns the settings of a project in the form of responses, with defaults for absent
// ones.
func settingsOf(m *management.ProjectMeta) (projectSettings, error) {
	// Each default needs its own bytes, since Unmarshal writes into them.
	null, no := func() json.RawMessage { return json.RawMessage("null") }, false
	out := projectSettings{
		AppURLs: []string{}, DataAttributes: []string{"data-attr"}, TestAccountFilters: json.RawMessage("[]"), Correlation: json.RawMessage("{}"),
		PathCleaning: null(), AutocaptureIgnoredErrors: null(), WebVitalsMetrics: null(), RecordingLinkedFlag: null(), RecordingNetwork: null(),
		RecordingMasking: null(), Replay: null(), SurveyConfig: null(), Extra: null(), Modifiers: null(), SnippetDefaults: null(), Recording: &no,
	}
	return out, json.Unmarshal(storage.Encode(m.Settings), &out)
}

// warnOfSettings warns of members of a body that have no effect.
func warnOfSettings(b *management.Body, meta *management.ProjectMeta) error {
	settings, err := settingsOf(meta)
	if err != nil || b.Warn == nil {
		return err
	}
	for _, text := range settings.warnings() {
		if name, _, _ := strings.Cut(text, ":"); b.Members[name] != nil {
			b.Warn(text)
		}
	}
	return nil
}
