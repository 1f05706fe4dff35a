package changes

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// scheduledPayload is the operation of a change, with its argument.
type scheduledPayload struct {
	Operation string          `json:"operation"`
	Value     json.RawMessage `json:"value"`
}

// scheduledOperations are the operations that can be scheduled, in the order of the error message.
var scheduledOperations = []struct {
	name string
	do   func(c *storedChange, f *storedflags.Flag, value json.RawMessage) error
}{
	{"update_status", switchFlag}, {"update_rollout", setRollout},
	{"add_release_condition", addConditions}, {"update_variants", setVariants},
}

// apply applies the operation of a change to a flag. It does not store the flag.
func (c *storedChange) apply(f *storedflags.Flag) error {
	var p scheduledPayload
	if err := json.Unmarshal(c.Payload, &p); err != nil {
		return badPayload("The payload must have an operation and a value.")
	}
	var names []string
	for _, o := range scheduledOperations {
		if o.name == p.Operation {
			return o.do(c, f, p.Value)
		}
		names = append(names, o.name)
	}
	last := len(names) - 1
	return badPayload("Unknown operation %q: it can be %s or %s.", p.Operation, strings.Join(names[:last], ", "), names[last])
}

// badPayload returns an error of the field payload.
func badPayload(format string, args ...any) error {
	return management.Fault("payload", format, args...)
}

// switchFlag implements update_status: it switches the flag on or off.
func switchFlag(_ *storedChange, f *storedflags.Flag, value json.RawMessage) error {
	if err := json.Unmarshal(value, &f.Active); err != nil || management.JSONKind(value) != "bool" {
		return badPayload("The value of update_status must be true or false.")
	}
	return nil
}

// addConditions implements add_release_condition: it appends conditions to the flag.
func addConditions(_ *storedChange, f *storedflags.Flag, value json.RawMessage) error {
	var more struct {
		Groups []json.RawMessage `json:"groups"`
	}
	if json.Unmarshal(value, &more) != nil || len(more.Groups) == 0 {
		return badPayload("The value of add_release_condition must have the conditions as groups.")
	}
	return f.EditConditions(func(groups []json.RawMessage) ([]json.RawMessage, error) {
		return append(groups, more.Groups...), nil
	})
}

// setRollout implements update_rollout: it sets the percentage of one condition (spec/console.md
// N24). The condition is selected by its index. If the conditions of the flag have changed since
// the change was scheduled, the condition with the same contents is used, and the change fails if
// there is not exactly one. So the percentage never applies to persons for whom it was not
// intended.
func setRollout(c *storedChange, f *storedflags.Flag, value json.RawMessage) error {
	var sent struct {
		Condition *int            `json:"condition"`
		Rollout   json.RawMessage `json:"rollout_percentage"`
	}
	if json.Unmarshal(value, &sent) != nil || sent.Condition == nil || sent.Rollout == nil {
		return badPayload("The value of update_rollout must have a condition, counted from 0, and a rollout_percentage.")
	}
	return f.EditConditions(func(groups []json.RawMessage) ([]json.RawMessage, error) {
		index, expected := *sent.Condition, c.Condition
		if expected == nil { // the change is being scheduled
			if index < 0 || index >= len(groups) {
				return nil, badPayload("The feature flag has no condition %d: it has %d, counted from 0.", index, len(groups))
			}
			c.Condition = withoutRollout(groups[index])
		} else if index = findCondition(groups, expected, index); index < 0 {
			return nil, badPayload("Condition %d has changed since this was scheduled. Schedule the change again.", *sent.Condition)
		}
		var group map[string]json.RawMessage
		if json.Unmarshal(groups[index], &group) != nil {
			return nil, badPayload("Condition %d cannot be read.", index)
		}
		group["rollout_percentage"] = sent.Rollout
		groups[index] = storage.Encode(group)
		return groups, nil
	})
}

// findCondition returns the index of the condition that equals condition, ignoring percentages. If
// several are equal, it returns position if that is one of them. It returns -1 if there is no
// unique result.
func findCondition(groups []json.RawMessage, condition json.RawMessage, position int) int {
	found := -1
	for i := range groups {
		switch matches := bytes.Equal(withoutRollout(groups[i]), condition); {
		case matches && i == position:
			return i
		case matches && found >= 0:
			found = len(groups) // several matches
		case matches:
			found = i
		}
	}
	if found == len(groups) {
		return -1
	}
	return found
}

// withoutRollout returns a condition without its percentage, in a form that can be compared.
func withoutRollout(group json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(group, &members) != nil {
		return group
	}
	delete(members, "rollout_percentage")
	return storedflags.PlainJSON(storage.Encode(members))
}

// setVariants implements update_variants: it replaces the variants of the flag, and the payloads if
// the value contains any.
func setVariants(_ *storedChange, f *storedflags.Flag, value json.RawMessage) error {
	var more struct {
		Variants json.RawMessage `json:"variants"`
		Payloads json.RawMessage `json:"payloads"`
	}
	if json.Unmarshal(value, &more) != nil || management.JSONKind(more.Variants) != "list" {
		return badPayload("The value of update_variants must have a list of variants.")
	}
	return f.EditFilters(func(filters map[string]json.RawMessage) error {
		filters["multivariate"] = storage.Encode(map[string]json.RawMessage{"variants": more.Variants})
		if more.Payloads != nil {
			filters["payloads"] = more.Payloads
		}
		return nil
	})
}
