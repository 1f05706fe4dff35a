package featureflags

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// scheduledPayload is what a change does.
type scheduledPayload struct {
	Operation string          `json:"operation"`
	Value     json.RawMessage `json:"value"`
}

// scheduledOperations are what can be scheduled, in the order in which they are told.
var scheduledOperations = []struct {
	name string
	do   func(c *storedChange, f *storedFlag, value json.RawMessage) error
}{
	{"update_status", switchFlag}, {"update_rollout", setRollout},
	{"add_release_condition", addConditions}, {"update_variants", setVariants},
}

// apply changes a flag as the payload says.
func (c *storedChange) apply(f *storedFlag) error {
	var p scheduledPayload
	if err := json.Unmarshal(c.Payload, &p); err != nil {
		return badPayload("The payload needs an operation and a value.")
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

// badPayload is a fault of what a change does.
func badPayload(format string, args ...any) error {
	return management.Fault("payload", format, args...)
}

func switchFlag(_ *storedChange, f *storedFlag, value json.RawMessage) error {
	if err := json.Unmarshal(value, &f.Active); err != nil || management.JSONKind(value) != "bool" {
		return badPayload("The value of update_status is true or false.")
	}
	return nil
}

func addConditions(_ *storedChange, f *storedFlag, value json.RawMessage) error {
	var more struct {
		Groups []json.RawMessage `json:"groups"`
	}
	if json.Unmarshal(value, &more) != nil || len(more.Groups) == 0 {
		return badPayload("The value of add_release_condition has the conditions as groups.")
	}
	return f.editConditions(func(groups []json.RawMessage) ([]json.RawMessage, error) {
		return append(groups, more.Groups...), nil
	})
}

// setRollout sets the share of one condition (spec/console.md N24). The condition is
// named by its place; should it have moved until the change is due, the one that reads
// the same is taken, and none where that is not one alone: a share is never given to
// people for whom it was not meant.
func setRollout(c *storedChange, f *storedFlag, value json.RawMessage) error {
	var sent struct {
		Condition *int            `json:"condition"`
		Rollout   json.RawMessage `json:"rollout_percentage"`
	}
	if json.Unmarshal(value, &sent) != nil || sent.Condition == nil || sent.Rollout == nil {
		return badPayload("The value of update_rollout has a condition, counted from 0, and a rollout_percentage.")
	}
	return f.editConditions(func(groups []json.RawMessage) ([]json.RawMessage, error) {
		index, expected := *sent.Condition, c.Condition
		if expected == nil { // it is being scheduled
			if index < 0 || index >= len(groups) {
				return nil, badPayload("The feature flag has no condition %d: it has %d, counted from 0.", index, len(groups))
			}
			c.Condition = withoutRollout(groups[index])
		} else if index = findCondition(groups, expected, index); index < 0 {
			return nil, badPayload("Condition %d is not what it was when this was scheduled. Schedule the change once more.", *sent.Condition)
		}
		var group map[string]json.RawMessage
		if json.Unmarshal(groups[index], &group) != nil {
			return nil, badPayload("Condition %d cannot be read.", index)
		}
		group["rollout_percentage"] = sent.Rollout
		groups[index] = management.Encode(group)
		return groups, nil
	})
}

// forgetCondition makes a change that is copied to another project name its condition by its
// place alone, where it still stands there: cohorts have other numbers in each project.
func (c *storedChange) forgetCondition(f *storedFlag) {
	trial := *c
	trial.Condition = nil
	if trial.apply(f.clone()) == nil && bytes.Equal(trial.Condition, c.Condition) {
		c.Condition = nil
	}
}

// rememberCondition remembers the condition that a copied change names in its new project.
func (c *storedChange) rememberCondition(d *Definition) error {
	f, err := decodeFlag(c.Team, d)
	if err == nil && c.Condition == nil {
		_ = c.apply(f) // what cannot be done is told when it is due
	}
	return err
}

// clone is a flag on which something can be tried.
func (f *storedFlag) clone() *storedFlag { g := *f; return &g }

// findCondition is the place of the condition that reads like another one but for its
// share: the given place if it does, else the only one that does, -1 for none.
func findCondition(groups []json.RawMessage, condition json.RawMessage, position int) int {
	found := -1
	for i := range groups {
		switch matches := bytes.Equal(withoutRollout(groups[i]), condition); {
		case matches && i == position:
			return i
		case matches && found >= 0:
			found = len(groups) // more than one
		case matches:
			found = i
		}
	}
	if found == len(groups) {
		return -1
	}
	return found
}

// withoutRollout is a condition without its share, in one form for one meaning.
func withoutRollout(group json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(group, &members) != nil {
		return group
	}
	delete(members, "rollout_percentage")
	return plainJSON(management.Encode(members))
}

func setVariants(_ *storedChange, f *storedFlag, value json.RawMessage) error {
	var more struct {
		Variants json.RawMessage `json:"variants"`
		Payloads json.RawMessage `json:"payloads"`
	}
	if json.Unmarshal(value, &more) != nil || management.JSONKind(more.Variants) != "list" {
		return badPayload("The value of update_variants has a list of variants.")
	}
	return f.editFilters(func(filters map[string]json.RawMessage) error {
		filters["multivariate"] = management.Encode(map[string]json.RawMessage{"variants": more.Variants})
		if more.Payloads != nil {
			filters["payloads"] = more.Payloads
		}
		return nil
	})
}

// editFilters changes the members of a flag's filters.
func (f *storedFlag) editFilters(change func(map[string]json.RawMessage) error) error {
	filters := map[string]json.RawMessage{}
	if err := json.Unmarshal(f.Filters, &filters); err != nil {
		return err
	}
	if err := change(filters); err != nil {
		return err
	}
	f.Filters = management.Encode(filters)
	return nil
}

// editConditions changes the conditions of a flag.
func (f *storedFlag) editConditions(change func([]json.RawMessage) ([]json.RawMessage, error)) error {
	return f.editFilters(func(filters map[string]json.RawMessage) (err error) {
		var groups []json.RawMessage
		if raw := filters["groups"]; raw != nil {
			if err := json.Unmarshal(raw, &groups); err != nil {
				return err
			}
		}
		if groups, err = change(slices.Clone(groups)); err == nil {
			filters["groups"] = management.Encode(groups)
		}
		return err
	})
}
