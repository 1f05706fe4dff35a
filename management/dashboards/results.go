package dashboards

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
)

// insightResult is the result of running an insight's query. This package runs no queries: the
// caller that returns an insight to a client sets it.
type insightResult struct {
	// Result has the rows, in the form of the query's kind. It is null if the query was not run.
	Result json.RawMessage `json:"result"` // null if the query was not run
	// HasMore reports whether there are more rows than the query's limit; it is nil if the kind has
	// none.
	HasMore *bool `json:"hasMore,omitempty"`
	// Columns and Types are the names and types of the columns of a list or an SQL query.
	Columns json.RawMessage `json:"columns,omitempty"`
	Types   json.RawMessage `json:"types,omitempty"`
	// LastRefresh is the time at which the result was computed, and Cached reports whether it was
	// computed for an earlier request.
	LastRefresh *string `json:"last_refresh"`
	Cached      bool    `json:"is_cached"`
	// TargetAge is the time at which the result expires, and NextRefresh the time from which a
	// client may have it computed again.
	TargetAge   *string `json:"cache_target_age"`
	NextRefresh *string `json:"next_allowed_client_refresh"`
	// QueryStatus describes a query that runs in the background.
	QueryStatus json.RawMessage `json:"query_status"`
	// Timezone is the time zone of the dates in the result.
	Timezone *string `json:"timezone"`
	// HogQL is the SQL of the query, nil if its kind has none.
	HogQL *string `json:"hogql"`
	// Range is the range of dates of the query, with absolute times.
	Range json.RawMessage `json:"resolved_date_range"`
	// Error is nil if the query has succeeded or was not run.
	Error *InsightError `json:"error"`
}

// InsightError is the reason why an insight has no result. Its members are those of the error that
// the API returns for the query itself, so that one faulty insight does not fail a whole dashboard.
type InsightError struct {
	Type   string  `json:"type"`
	Code   string  `json:"code"`
	Detail string  `json:"detail"`
	Attr   *string `json:"attr"`
}

// Question returns the query of an insight or, if it has none, its filters, which are the older
// form of a query. Both are nil if the insight has neither. The result does not depend on whether
// the link or the tile that shows the insight hides its query.
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

// StoredOverrides returns the filters that the tile adds to the query of its insight, even if a
// link hides them.
func (t *tile) StoredOverrides() json.RawMessage { return t.stored }

// Project returns the project of a shared dashboard.
func (s *SharedDashboard) Project() *management.ProjectRecord { return s.project }
