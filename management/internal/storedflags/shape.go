package storedflags

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// Shape contains the members of a flag's filters that this package reads. Members of an
// unexpected type are left at their zero value, because stored filters may come from definitions
// files.
type Shape struct {
	Groups       []Group `json:"groups"`
	Multivariate *struct {
		Variants []Variant `json:"variants"`
	} `json:"multivariate"`
	Aggregation *int            `json:"aggregation_group_type_index"`
	Holdout     json.RawMessage `json:"holdout"`
	HoldoutOld  json.RawMessage `json:"holdout_groups"`
	Enrollment  bool            `json:"feature_enrollment"`
	SuperGroups json.RawMessage `json:"super_groups"`
}

// Group is one condition.
type Group struct {
	Properties []propertyShape `json:"properties"`
	// Rollout is raw because null and absent mean 100 percent, see RolloutOf.
	Rollout     json.RawMessage `json:"rollout_percentage"`
	Variant     string          `json:"variant"`
	Aggregation *int            `json:"aggregation_group_type_index"`
}

// propertyShape is one property of a condition.
type propertyShape struct {
	Type  string          `json:"type"`
	Key   json.RawMessage `json:"key"`
	Value json.RawMessage `json:"value"`
	// Chain is set in compiled flags, as in definitions for local evaluation. Then Key is a flag
	// key.
	Chain *[]string `json:"dependency_chain"`

	// group and index are the position in the filters, set by Shape.properties.
	group, index int
}

// path returns the path of a member of the property, as in a fault.
func (p *propertyShape) path(member string) string {
	return fmt.Sprintf("filters.groups.%d.properties.%d.%s", p.group, p.index, member)
}

// Variant is one variant of a flag.
type Variant struct {
	Key     string  `json:"key"`
	Rollout float64 `json:"rollout_percentage"`
}

// Shape decodes the filters of the flag.
func (f *Flag) Shape() *Shape { return shapeOf(f.Filters) }

// shapeOf decodes filters.
func shapeOf(filters json.RawMessage) *Shape {
	out := &Shape{}
	_ = json.Unmarshal(filters, out) // members of unexpected types are ignored
	return out
}

// Variants returns the variants of the flag, or nil if it has none.
func (s *Shape) Variants() []Variant {
	if s.Multivariate == nil {
		return nil
	}
	return s.Multivariate.Variants
}

// IsSimple reports whether the flag has a single condition, for persons and without properties.
func (s *Shape) IsSimple() bool {
	return len(s.Groups) == 1 && len(s.Groups[0].Properties) == 0 && s.Aggregation == nil && s.Groups[0].Aggregation == nil
}

// isGrouped reports whether the flag or one of its conditions applies to groups.
func (s *Shape) isGrouped() bool {
	for i := range s.Groups {
		if s.Groups[i].Aggregation != nil {
			return true
		}
	}
	return s.Aggregation != nil
}

// RolloutOf returns a rollout percentage. Null and absent values are 100.
func RolloutOf(raw json.RawMessage) float64 {
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 100
	}
	return x
}

// IsFull reports whether a condition matches everyone.
func (g *Group) IsFull() bool { return len(g.Properties) == 0 && RolloutOf(g.Rollout) == 100 }

// Rollout returns the rollout percentage that all conditions share, or nil if they differ or
// there are no conditions.
func (s *Shape) Rollout() json.RawMessage {
	for i := range s.Groups {
		if RolloutOf(s.Groups[i].Rollout) != RolloutOf(s.Groups[0].Rollout) {
			return nil
		}
	}
	if len(s.Groups) == 0 {
		return nil
	}
	return strconv.AppendFloat(nil, RolloutOf(s.Groups[0].Rollout), 'f', -1, 64)
}

// name returns the key of the property as a string. Keys that reference flags may be numbers.
func (p *propertyShape) name() string {
	var text string
	if json.Unmarshal(p.Key, &text) == nil {
		return text
	}
	return string(p.Key)
}

// PropertiesOf returns the properties of all conditions in decoded filters.
func PropertiesOf(filters map[string]any) (out []map[string]any) {
	for _, group := range definitions.List(filters["groups"]) {
		for _, p := range definitions.List(definitions.Object(group)["properties"]) {
			if p := definitions.Object(p); p != nil {
				out = append(out, p)
			}
		}
	}
	return out
}
