package featureflags

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// flagFields are the writable fields of a flag.
var flagFields = management.Fields{
	{Name: "key", Type: management.Text, Required: true, MaxLength: storedflags.MaxKey, Help: "letters, digits, - and _; unique in the project"},
	{Name: "name", Type: management.Text, Null: true, Blank: true, Help: "description of the flag"},
	{Name: "filters", Type: management.Object, Custom: true, Help: "conditions, variants and payloads"},
	{Name: "active", Type: management.Bool},
	{Name: "archived", Type: management.Bool, Help: "true disables the flag; enabling an archived flag unarchives it"},
	{Name: "deleted", Type: management.Bool, Help: "true deletes the flag, false restores it"},
	{Name: "ensure_experience_continuity", Type: management.Bool, Null: true, Help: "keep a person's value when they sign in"},
	{Name: "rollback_conditions", Type: management.Any},
	{Name: "performed_rollback", Type: management.Bool, Null: true},
	{Name: "tags", Type: management.TextList, MaxLength: 255, Blank: true},
	{Name: "evaluation_tags", Type: management.TextList, MaxLength: 255, Custom: true, Help: "evaluation contexts that are also tags"},
	{Name: "evaluation_contexts", Type: management.TextList, MaxLength: 255, Help: "the flag is only evaluated for requests with one of these contexts"},
	{Name: "evaluation_contexts_match_mode", Type: management.Choice, Choices: []string{"any", "all"}},
	{Name: "analytics_dashboards", Type: management.IntList},
	{Name: "has_enriched_analytics", Type: management.Bool, Null: true},
	{Name: "creation_context", Type: management.Choice, Choices: []string{"feature_flags", "experiments", "surveys", "early_access_features", "web_experiments"}, Custom: true},
	{Name: "is_remote_configuration", Type: management.Bool, Null: true},
	{Name: "has_encrypted_payloads", Type: management.Bool, Null: true, Custom: true, Help: "not supported; true is an error"},
	{Name: "evaluation_runtime", Type: management.Choice, Choices: []string{"server", "client", "all", "both"}},
	{Name: "bucketing_identifier", Type: management.Choice, Null: true, Choices: []string{"distinct_id", "device_id"}},
	{Name: "bucketing_hash", Type: management.Choice, Null: true, Choices: []string{"sha1", "murmur3"}, Help: "null: that of the project"},
	{Name: "version", Type: management.Int, Null: true, Custom: true, Help: "version of the flag that was edited, to detect conflicts"},
	{Name: "original_flag", Type: management.Any, Custom: true, Help: "the flag before it was edited, to detect conflicts"},
	storedflags.NoteField,
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true},
	{Name: "_should_create_usage_dashboard", Type: management.Bool, Custom: true, Help: "only on creation; false: do not create a usage dashboard"},
}

// editingFields are the fields that control the write and are not part of the flag.
var editingFields = []string{"version", "original_flag", "change_note", "creation_context", "_create_in_folder", "_should_create_usage_dashboard"}
