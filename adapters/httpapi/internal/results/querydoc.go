package results

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture/queries"
)

// Responses of queries (spec/insights.md §1.4, §1.5), for the description of the API. Kinds of
// queries add members of their own.
type (
	queryAnswer struct {
		Results     json.RawMessage            `json:"results"`
		Cached      bool                       `json:"is_cached"`
		LastRefresh frame.Instant              `json:"last_refresh"`
		NextRefresh frame.Instant              `json:"next_allowed_client_refresh"`
		TargetAge   frame.Instant              `json:"cache_target_age"`
		CacheKey    string                     `json:"cache_key"`
		Timezone    string                     `json:"timezone"`
		HogQL       string                     `json:"hogql"`
		Modifiers   map[string]json.RawMessage `json:"modifiers"`
		Timings     []queryTiming              `json:"timings"`
		Status      *queries.Status            `json:"query_status,omitempty"`
		Range       *queryRange                `json:"resolved_date_range,omitempty"`
		HasMore     bool                       `json:"hasMore,omitempty"`
		Limit       int                        `json:"limit,omitempty"`
		Offset      int                        `json:"offset,omitempty"`
		Columns     []string                   `json:"columns,omitempty"`
		Types       []json.RawMessage          `json:"types,omitempty"`
	}
	queryTiming struct {
		Step    string  `json:"k"`
		Seconds float64 `json:"t"`
	}
	queryRange struct {
		From frame.Instant `json:"date_from"`
		To   frame.Instant `json:"date_to"`
	}
	queryState struct {
		Status queries.Status `json:"query_status"`
	}
	queryCancelled struct {
		Message string `json:"message"`
	}
	queryAllowed struct {
		User string `json:"user"`
	}
	queryUpgraded struct {
		Query json.RawMessage `json:"query"`
	}
)
