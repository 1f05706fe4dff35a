package storedflags

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// maxOperands is the maximum number of values of one property.
const maxOperands = 1000

// variantKey and holdoutKey match the keys of variants and of payloads for holdouts.
var (
	variantKey = regexp.MustCompile(`^[a-zA-Z0-9_./-]+$`)
	holdoutKey = regexp.MustCompile(`^holdout-[0-9]+$`)
)

// CheckFilters validates the filters of a flag without reference to other definitions, and
// converts them into their stored form (§5.1.2, spec/flags.md §1.5).
func (f *Flag) CheckFilters() error {
	var l Faults
	f.GatherFilters(&l)
	return l.First()
}

// GatherFilters is like CheckFilters but adds all faults to l. It returns false if the filters
// are not an object or too large, so that further checks make no sense.
func (f *Flag) GatherFilters(l *Faults) bool {
	if len(f.Filters) > maxFilters {
		_ = l.Add("", management.CodedFault(management.CodeMaxLength, "filters", "Ensure this field has no more than %d bytes.", maxFilters))
		return false
	}
	filters := definitions.Object(wire.Value(f.Filters))
	if filters == nil {
		_ = l.Add("", management.CodedFault(management.CodeNotADict, "filters", "Expected a dictionary of items but got type %q.", management.JSONKind(f.Filters)))
		return false
	}
	// A misspelled member would silently change the meaning of a condition (decision 30).
	FindUnknownKeys(flags.FiltersPart, f.Filters, nil, l)
	groups, ok := filters["groups"].([]any)
	if !ok {
		_ = l.Add("filters.groups", ErrNoGroups())
	}
	variants := checkVariants(filters["multivariate"], l)
	for i, g := range groups {
		path := fmt.Sprintf("filters.groups.%d", i)
		if group := definitions.Object(g); group != nil {
			checkGroup(path, group, filters["aggregation_group_type_index"], variants, l)
		} else {
			l.Addf(path, "Each group of filters must be an object.")
		}
	}
	if exclusion, ok := definitions.Object(filters["holdout"])["exclusion_percentage"]; ok && !IsPercentage(exclusion) {
		l.Addf("filters.holdout.exclusion_percentage", "The exclusion percentage of a holdout must be a number between 0 and 100.")
	}
	checkPayloads(filters, variants, l)
	// The checks have normalized filters in place. Invalid filters are not stored.
	if l.First() == nil {
		f.Filters = wire.MustEncode(filters)
	}
	return true
}

// ErrNoGroups returns the error for filters without a list of conditions.
func ErrNoGroups() error {
	return management.CodedFault(management.CodeRequired, "filters", "Filters must have a list of groups.")
}

// IsPercentage reports whether a value is a number from 0 to 100.
func IsPercentage(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	x, err := n.Float64()
	return err == nil && x >= 0 && x <= 100
}

// checkVariants checks the variants of a flag and returns their keys, including invalid ones, so
// that references to them cause no further faults. Rollouts must sum up to 100, within 0.01.
func checkVariants(multivariate any, l *Faults) (keys []string) {
	const invalid, path = "Invalid variant definitions: ", "filters.multivariate"
	if multivariate == nil {
		return nil
	}
	members, ok := multivariate.(map[string]any)
	if !ok {
		l.Addf(path, invalid+"multivariate must be an object.")
		return nil
	}
	if v := members["variants"]; v != nil && definitions.List(v) == nil {
		l.Addf(path+".variants", invalid+"Variants must be a list.")
	}
	// complete is false if a share is invalid: then the sum is not checked.
	sum, complete := 0.0, true
	for i, v := range definitions.List(members["variants"]) {
		key, _ := definitions.Object(v)["key"].(string)
		share := definitions.Object(v)["rollout_percentage"]
		variantPath := fmt.Sprintf(path+".variants.%d", i)
		switch {
		case !variantKey.MatchString(key):
			l.Addf(variantPath+".key", invalid+"Variant keys may only have letters, numbers, hyphens, underscores, dots and slashes.")
		case len(key) > MaxKey:
			l.Addf(variantPath+".key", invalid+"Variant keys may have no more than %d characters.", MaxKey)
		case slices.Contains(keys, key):
			l.Addf(variantPath+".key", invalid+"Variant keys must be unique.")
		}
		if IsPercentage(share) {
			x, _ := share.(json.Number).Float64()
			sum += x
		} else {
			l.Addf(variantPath+".rollout_percentage", invalid+"Variant rollout percentages must be numbers between 0 and 100.")
			complete = false
		}
		keys = append(keys, key)
	}
	// Shares such as 33.33 do not sum up exactly.
	if complete && len(keys) > 0 && math.Abs(sum-100) > 0.01 {
		l.Addf(path+".variants", invalid+"Variant rollout percentages must sum to 100.")
	}
	return keys
}

// checkGroup checks one condition. path is its path in the flag, aggregation the group type index
// of the whole flag, which the condition may override, and variants are the keys of the variants.
func checkGroup(path string, group map[string]any, aggregation any, variants []string, l *Faults) {
	// A condition may override the group type of the flag, also with null for persons.
	if v, own := group["aggregation_group_type_index"]; own {
		aggregation = v
	}
	if rollout := group["rollout_percentage"]; rollout != nil && !IsPercentage(rollout) {
		l.Addf(path+".rollout_percentage", "The rollout percentage of a group must be a number between 0 and 100.")
	}
	// A condition may force a variant, which must be one of the flag's.
	if v := group["variant"]; v != nil && v != "" {
		if name, ok := v.(string); !ok || !slices.Contains(variants, name) {
			l.Addf(path+".variant", "Filters are not valid (variant override does not exist)")
		}
	}
	if v := group["properties"]; v != nil && definitions.List(v) == nil {
		l.Addf(path+".properties", "The properties of a group must be a list.")
	}
	for i, v := range definitions.List(group["properties"]) {
		path := fmt.Sprintf("%s.properties.%d", path, i)
		p := definitions.Object(v)
		if p == nil {
			l.Addf(path, "Each property of a group must be an object.")
			continue
		}
		err := checkType(p, aggregation)
		_ = l.Add(path+".type", err)
		// checkOperator also normalizes the property, so it runs even if the type is wrong. Its
		// fault is then ignored.
		if member, fault := checkOperator(p); err == nil {
			_ = l.Add(path+"."+member, fault)
		}
	}
}

// checkType checks that the type of a property is allowed: conditions for persons may use
// properties of persons, cohorts and flags; conditions for groups only properties of that group
// type.
func checkType(p map[string]any, aggregation any) error {
	switch {
	case aggregation == nil && p["type"] != "person" && p["type"] != "cohort" && p["type"] != "flag":
		return BadFilters("Filters are not valid (can only use person, cohort, and flag properties)")
	case aggregation != nil && (p["type"] != "group" || p["group_type_index"] != nil && !equalNumbers(p["group_type_index"], aggregation)):
		return BadFilters("Filters are not valid (can only use group properties)")
	}
	return nil
}

// equalNumbers reports whether two values are numerically equal numbers. It is false if one of
// them is not a number.
func equalNumbers(a, b any) bool {
	x, ok := a.(json.Number)
	y, okB := b.(json.Number)
	if !ok || !okB {
		return false
	}
	n, err := x.Float64()
	m, errB := y.Float64()
	return err == nil && errB == nil && n == m
}

// checkOperator checks the operator and value of a property, as far as that is possible without
// the engine, and returns the member that is at fault. It replaces aliases of operators by their
// names, and the ids of cohorts by numbers.
func checkOperator(p map[string]any) (member string, err error) {
	operator, _ := p["operator"].(string)
	op, isOperator := flags.Operator(operator).Info()
	// Aliases are accepted in requests and stored under the operator's own name.
	if isOperator && operator == string(op.Alias) {
		operator = string(op.Name)
		p["operator"] = operator
	}
	cohort, dependency := p["type"] == "cohort", p["type"] == "flag"
	switch {
	case dependency && op.Only != flags.FlagProperty:
		return "operator", BadFilters("Flag properties must use the 'flag_evaluates_to' operator")
	case !dependency && op.Only == flags.FlagProperty:
		return "operator", BadFilters("Only flag properties can use the 'flag_evaluates_to' operator")
	case !cohort && op.Only == flags.CohortProperty:
		return "operator", management.CodedFault("invalid_operator", "filters", "The '%s' operator is only valid for cohort properties, not '%s' properties.", operator, PlainText(p["type"]))
	case cohort && operator != "" && op.Only != flags.CohortProperty:
		return "operator", BadFilters("Cohort properties must use the 'in' or 'not_in' operator")
	case len(definitions.List(p["value"])) > maxOperands:
		return "value", BadFilters("Property group expressions of type %s cannot contain more than %d values.", PlainText(p["key"]), maxOperands)
	}
	if cohort {
		delete(p, "cohort_name") // added to responses, and never stored
		// Clients may send the id as a string. In documents, the value is a name, if the key says so.
		if text, ok := p["value"].(string); ok && p["key"] != "name" {
			if id, err := strconv.ParseInt(text, 10, 64); err == nil {
				p["value"] = json.Number(strconv.FormatInt(id, 10))
			}
		}
	}
	if value := p["value"]; !isOperand(op.Operand, value) {
		return "value", badValue(operator, value)
	}
	return "", nil
}

// isOperand reports whether a value has the form that an operator expects (§5.1.2, spec/flags.md
// §1.5).
func isOperand(form flags.Operand, value any) bool {
	// Operands that no case below lists are checked by the engine.
	_, text := value.(string)
	_, array := value.([]any)
	_, members := value.(map[string]any)
	switch form {
	case flags.TextOperand:
		return text
	case flags.ListOperand:
		return array
	case flags.ScalarOperand:
		return value != nil && !array && !members
	}
	return true
}

// badValue returns the error for a value that an operator cannot use. The default operator is
// exact.
func badValue(operator string, value any) error {
	if operator == "" {
		operator = "exact"
	}
	// Invalid dates have their own error code.
	if op, _ := flags.Operator(operator).Info(); op.Operand == flags.DateOperand {
		return management.CodedFault("invalid_date", "filters", "Invalid date value: %s", PlainText(value))
	}
	return management.CodedFault("invalid_value", "filters", "Invalid value for operator %s: %s", operator, PlainText(value))
}

// checkPayloads checks the payloads of a flag, and converts values that are not strings into JSON
// strings. Keys of payloads are variants or, for a flag without variants, "true".
func checkPayloads(filters map[string]any, variants []string, l *Faults) {
	const path = "filters.payloads"
	if filters["payloads"] == nil {
		return
	}
	payloads, ok := filters["payloads"].(map[string]any)
	if !ok {
		l.Addf(path, "Payloads must be passed as a dictionary")
		return
	}
	keys := slices.Sorted(maps.Keys(payloads)) // report the same fault first each time
	// First check the values, then the keys.
	for _, key := range keys {
		text, ok := payloads[key].(string)
		switch {
		case !ok:
			payloads[key] = string(wire.MustEncode(payloads[key]))
		case !json.Valid([]byte(text)):
			l.Addf(path+"."+key, "Payload value is not valid JSON")
		}
	}
	for _, key := range keys {
		switch {
		// The holdout of an experiment may have a payload of its own.
		case holdoutKey.MatchString(key):
		case len(variants) > 0 && !slices.Contains(variants, key):
			l.Addf(path+"."+key, "Payload keys must match a variant key for multivariate flags")
		case len(variants) == 0 && key != "true":
			l.Addf(path+"."+key, "Payload keys must be 'true' for boolean flags")
		}
	}
}

const maxFilters = 512 << 10 // bytes
