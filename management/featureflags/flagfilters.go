package featureflags

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// filterShape is what this room looks at in the filters of a flag; what is of
// another type is left out.
type filterShape struct {
	Groups       []groupShape `json:"groups"`
	Multivariate *struct {
		Variants []variantShape `json:"variants"`
	} `json:"multivariate"`
	Aggregation *int            `json:"aggregation_group_type_index"`
	Holdout     json.RawMessage `json:"holdout"`
	HoldoutOld  json.RawMessage `json:"holdout_groups"`
	Enrollment  bool            `json:"feature_enrollment"`
	SuperGroups json.RawMessage `json:"super_groups"`
}

type groupShape struct {
	Properties  []propertyShape `json:"properties"`
	Rollout     json.RawMessage `json:"rollout_percentage"`
	Variant     string          `json:"variant"`
	Aggregation *int            `json:"aggregation_group_type_index"`
}

type propertyShape struct {
	Type  string          `json:"type"`
	Key   json.RawMessage `json:"key"`
	Value json.RawMessage `json:"value"`
	Chain *[]string       `json:"dependency_chain"`

	group, index int // where it stands: see filterShape.properties
}

// path is where a member of a requirement is.
func (p *propertyShape) path(member string) string {
	return fmt.Sprintf("filters.groups.%d.properties.%d.%s", p.group, p.index, member)
}

type variantShape struct {
	Key     string  `json:"key"`
	Rollout float64 `json:"rollout_percentage"`
}

func (f *storedFlag) shape() *filterShape { return shapeOf(f.Filters) }

func shapeOf(filters json.RawMessage) *filterShape {
	out := &filterShape{}
	_ = json.Unmarshal(filters, out) // members of other types are left out
	return out
}

func (s *filterShape) variants() []variantShape {
	if s.Multivariate == nil {
		return nil
	}
	return s.Multivariate.Variants
}

// isSimple: one condition, for persons, without requirements.
func (s *filterShape) isSimple() bool {
	return len(s.Groups) == 1 && len(s.Groups[0].Properties) == 0 && s.Aggregation == nil && s.Groups[0].Aggregation == nil
}

// isGrouped reports whether the flag is about groups, in all or in some conditions.
func (s *filterShape) isGrouped() bool {
	for i := range s.Groups {
		if s.Groups[i].Aggregation != nil {
			return true
		}
	}
	return s.Aggregation != nil
}

// rolloutOf is a rollout; null and absent are 100.
func rolloutOf(raw json.RawMessage) float64 {
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 100
	}
	return x
}

// isFull reports whether a condition is for everybody.
func (g *groupShape) isFull() bool { return len(g.Properties) == 0 && rolloutOf(g.Rollout) == 100 }

// rollout is the share that all conditions have, nil where they differ or there are none.
func (s *filterShape) rollout() json.RawMessage {
	for i := range s.Groups {
		if rolloutOf(s.Groups[i].Rollout) != rolloutOf(s.Groups[0].Rollout) {
			return nil
		}
	}
	if len(s.Groups) == 0 {
		return nil
	}
	return strconv.AppendFloat(nil, rolloutOf(s.Groups[0].Rollout), 'f', -1, 64)
}

// name is the key of a property as a text.
func (p *propertyShape) name() string {
	var text string
	if json.Unmarshal(p.Key, &text) == nil {
		return text
	}
	return string(p.Key)
}

// anyList and anyObject read a member of decoded JSON, nil for another type.
func anyList(v any) []any { l, _ := v.([]any); return l }

func anyObject(v any) map[string]any { o, _ := v.(map[string]any); return o }

// propertiesOf are all requirements of decoded filters.
func propertiesOf(filters map[string]any) (out []map[string]any) {
	for _, group := range anyList(filters["groups"]) {
		for _, p := range anyList(anyObject(group)["properties"]) {
			if p := anyObject(p); p != nil {
				out = append(out, p)
			}
		}
	}
	return out
}
