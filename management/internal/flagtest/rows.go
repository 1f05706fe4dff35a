package flagtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Errors in responses.
const (
	Sum         = `400 invalid_input filters Invalid variant definitions: Variant rollout percentages must sum to 100.`
	OnlyPersons = `400 invalid_input filters Filters are not valid (can only use person, cohort, and flag properties)`
	OnlyGroups  = `400 invalid_input filters Filters are not valid (can only use group properties)`
	NeedsOne    = `403 approval_required - This change to the feature flag "a" requires an approval:`
	MayNotView  = `403 permission_denied - You do not have viewer access to this resource.`
	MayNotEdit  = `403 permission_denied - You do not have editor access to this resource.`
)

// Parts of flags, cohorts and scheduled changes.
const (
	AB        = `"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}`
	Targeting = `{"groups":[{"properties":[{"key":"email","type":"person","operator":"exact","value":"x"}],"rollout_percentage":50}]}`
	Plan      = `{"type":"person","key":"plan","value":"pro","operator":"exact"}`
	Performed = `{"type":"behavioral","key":"paid","value":"performed_event","event_type":"events","time_value":7,"time_interval":"day"}`
	Off       = `{"operation":"update_status","value":false}`
	On        = `{"operation":"update_status","value":true}`
)

// Groups returns the body of a flag with these conditions.
func Groups(conditions ...string) string {
	return `{"filters":{"groups":[` + strings.Join(conditions, ",") + `]}}`
}

// AFlag is the first row of the tables.
var AFlag = ruletest.Row{"§5.1.3", "bob", "create", `{"key":"a"}`, `{"id":1,"version":1}`}

// Variants returns the body of a flag with one condition and these variants.
func Variants(list string) string {
	return `{"filters":{"groups":[{"properties":[]}],"multivariate":{"variants":` + list + `}}}`
}

// ShareOf returns the body of a change that rolls a flag out to a share of all persons.
func ShareOf(percent int) string {
	return fmt.Sprintf(`{"filters":{"groups":[{"properties":[],"rollout_percentage":%d}]}}`, percent)
}

// RequestBody returns the body of a request for a change of flag 1.
func RequestBody(patch string) string { return `{"flag":1,"title":"Half","patch":` + patch + `}` }

// Document returns a document of flags and cohorts.
func Document(flags, cohorts string) string {
	return `{"flags":[` + flags + `],"cohorts":[` + cohorts + `]}`
}

// Each builds the rows of a table from a pattern and its values.
var Each = ruletest.Each

// Rows joins tables.
var Rows = slices.Concat[[]ruletest.Row]

// List returns a JSON array that repeats a value n times.
func List(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// Later returns the body of a change of flag 1 at a later time; more has its other members.
func Later(scheduled, payload string, more ...string) string {
	members := append([]string{`"record_id":1,"model_name":"FeatureFlag","payload":` + payload + `,"scheduled_at":"` + scheduled + `"`}, more...)
	return `{` + strings.Join(members, ",") + `}`
}

// ManyVariants returns n variants, of which control has 100 %.
func ManyVariants(n int) string {
	out := `[{"key":"control","rollout_percentage":100}`
	for i := 1; i < n; i++ {
		out += `,{"key":"v` + strconv.Itoa(i) + `","rollout_percentage":0}`
	}
	return out + `]`
}

// Needs returns the body of a flag that depends on the flags with these ids.
func Needs(ids ...string) string {
	properties := ""
	for i, id := range ids {
		if i > 0 {
			properties += ","
		}
		properties += `{"key":"` + id + `","type":"flag","operator":"flag_evaluates_to","value":true}`
	}
	return Property(properties)
}

// Steps returns a change of the rollout of the condition with an index.
func Steps(condition, share int) string {
	return fmt.Sprintf(`{"operation":"update_rollout","value":{"condition":%d,"rollout_percentage":%d}}`, condition, share)
}

// Text returns a JSON string of n characters.
func Text(n int) string { return `"` + strings.Repeat("x", n) + `"` }

// Property returns the body of a flag with one condition of one property.
func Property(p string) string { return Groups(`{"properties":[` + p + `]}`) }
