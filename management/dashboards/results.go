package dashboards

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
)

// InsightResult is what running an insight has given. Whoever shows an insight fills
// it in; the room itself runs nothing.
type InsightResult struct {
	Result      json.RawMessage `json:"result"` // null: it was not run
	HasMore     *bool           `json:"hasMore,omitempty"`
	Columns     json.RawMessage `json:"columns,omitempty"`
	Types       json.RawMessage `json:"types,omitempty"`
	LastRefresh *string         `json:"last_refresh"`
	Cached      bool            `json:"is_cached"`
	TargetAge   *string         `json:"cache_target_age"`
	NextRefresh *string         `json:"next_allowed_client_refresh"`
	QueryStatus json.RawMessage `json:"query_status"`
	Timezone    *string         `json:"timezone"`
	HogQL       *string         `json:"hogql"`
	Range       json.RawMessage `json:"resolved_date_range"`
	Error       *InsightError   `json:"error"`
}

// InsightError says why an insight has no result.
type InsightError struct {
	Type   string  `json:"type"`
	Code   string  `json:"code"`
	Detail string  `json:"detail"`
	Attr   *string `json:"attr"`
}

// Question is what an insight asks, whatever of it is shown: a query, or where there
// is none the older form of one, empty for neither.
func (i *Insight) Question() (query, filters json.RawMessage) {
	present := func(raw json.RawMessage) json.RawMessage {
		if text := string(raw); text == "null" || text == "{}" || text == "[]" {
			return nil
		}
		return raw
	}
	if query = present(i.question.Query); query != nil {
		return query, nil
	}
	return nil, present(i.question.Filters)
}

// StoredOverrides are the filters that a tile lays over its insight.
func (t *tile) StoredOverrides() json.RawMessage { return t.stored }

// Project is the project of a shared dashboard.
func (s *SharedDashboard) Project() *management.ProjectRecord { return s.project }
