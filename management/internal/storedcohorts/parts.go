package storedcohorts

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// parts summarizes the contents of a cohort or of a flag's conditions.
type parts struct {
	// Cohorts are the ids of the directly referenced cohorts. They may contain duplicates.
	Cohorts []int64
	// Behavioral is true if there are filters on events, which flags cannot evaluate.
	Behavioral bool
}

// PartsOf searches a JSON value of any shape, so that records of definitions files and older
// formats are understood, too.
func PartsOf(raw json.RawMessage) (out parts) {
	out.gather(wire.Value(raw))
	return out
}

// gather adds the parts of a decoded JSON value, recursively.
func (p *parts) gather(v any) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			p.gather(v[i])
		}
	case map[string]any:
		switch v["type"] {
		case "cohort":
			if id, ok := parseInteger(json.RawMessage(strings.Trim(fmt.Sprint(v["value"]), `"`))); ok {
				p.Cohorts = append(p.Cohorts, id)
			}
		case "behavioral":
			p.Behavioral = true
		}
		p.Behavioral = p.Behavioral || v["event_id"] != nil || v["action_id"] != nil // filters of the oldest format
		for name, member := range v {
			if name != "value" { // the operand of a filter is data, not a filter
				p.gather(member)
			}
		}
	}
}
