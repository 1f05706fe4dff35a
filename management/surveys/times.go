package surveys

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// isRepeated reports whether a survey has iterations, whether it has started or not.
func (s *storedSurvey) isRepeated() bool {
	return s.IterationCount != nil && s.IterationDays != nil && *s.IterationCount > 0 && *s.IterationDays > 0
}

// iterations returns the start times of all iterations of a recurring survey, the number of the
// current iteration, from 1, and the start time of the current iteration. If the survey has not
// started or is not recurring, current is nil.
func (s *storedSurvey) iterations(now time.Time) (starts []management.Stamp, current *int, since management.Stamp) {
	if s.Start.IsZero() || !s.isRepeated() {
		return []management.Stamp{}, nil, management.Stamp{}
	}
	for i := range int(*s.IterationCount) {
		start := management.NewStamp(s.Start.AddDate(0, 0, i*int(*s.IterationDays)))
		starts = append(starts, start)
		// The first iteration is the current one even if its start is in the future.
		if i == 0 || !start.After(now) {
			n := i + 1
			current, since = &n, start
		}
	}
	return starts, current, since
}

// unansweredFilters returns the filters of the internal targeting flag, which exclude persons who
// have responded to or dismissed the survey. For a recurring survey, only responses to the current
// iteration count: SDKs then set properties that end with its number. Before the start, the first
// iteration is the current one.
func (s *storedSurvey) unansweredFilters(now time.Time) json.RawMessage {
	suffix := s.ID
	if s.isRepeated() {
		n := 1
		if _, current, _ := s.iterations(now); current != nil {
			n = *current
		}
		suffix += "/" + strconv.Itoa(n)
	}
	var properties []any
	for _, name := range []string{"$survey_dismissed/", "$survey_responded/"} {
		properties = append(properties, map[string]any{"key": name + suffix, "type": "person", "operator": "is_not_set", "value": "is_not_set"})
	}
	group := map[string]any{"variant": "", "rollout_percentage": 100, "properties": properties}
	return storage.Encode(map[string]any{"groups": []any{group}})
}
